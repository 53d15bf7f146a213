#include "seams/mend_table.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>
#include <vector>

#include "db/version_edit.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "port/port.h"
#include "table/block.h"
#include "table/block_builder.h"
#include "table/format.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace leveldb {

namespace {

// An empty block is its array of restarts: one, and their number.
constexpr size_t kEmptyBlock = 8 + kBlockTrailerSize;
static_assert(kSmallestTable == 2 * kEmptyBlock + Footer::kEncodedLength,
              "a table without entries has a metaindex, an index and a footer");

class TableInMemory : public RandomAccessFile {
 public:
  explicit TableInMemory(const Slice& bytes) : bytes_(bytes) {}

  Status Read(uint64_t offset, size_t n, Slice* result,
              char* /*scratch*/) const override {
    if (offset > bytes_.size() || n > bytes_.size() - offset) {
      return Status::Corruption("table is too short");
    }
    *result = Slice(bytes_.data() + offset, n);
    return Status::OK();
  }

 private:
  const Slice bytes_;
};

// Appends a block to *dst, compressed if that makes it smaller: it must not
// need more room than the one that it takes the place of.
void AppendBlock(const Slice& raw, std::string* dst) {
  std::string compressed;
  Slice data = raw;
  char type = kNoCompression;
  if (port::Snappy_Compress(raw.data(), raw.size(), &compressed) &&
      compressed.size() < raw.size()) {
    data = compressed;
    type = kSnappyCompression;
  }
  const uint32_t crc =
      crc32c::Extend(crc32c::Value(data.data(), data.size()), &type, /*n=*/1);
  dst->append(data.data(), data.size());
  dst->push_back(type);
  PutFixed32(dst, crc32c::Mask(crc));
}

class TableMender {
 public:
  TableMender(const InternalKeyComparator& comparator,
              const FileMetaData& table, const Slice& bytes)
      : comparator_(comparator),
        table_(table),
        size_(table.file_size),
        file_(Slice(bytes.data(), std::min(bytes.size(), size_))) {
    damage_.is_cut = bytes.size() < size_;
  }

  TableDamage Read() {
    Footer footer;
    damage_.lost_index =
        !ReadFooter(&footer) || !ReadIndex(footer.index_handle());
    if (damage_.lost_index) return damage_;
    metaindex_ = footer.metaindex_handle();
    damage_.lost_filter = !MetaBlocksCanBeRead();
    return damage_;
  }

  // Makes *table, the bytes that were read, one that can be read again.
  //
  // Filter and metaindex stay where they are, and the new index goes right
  // behind them.  It has an entry less for each lost block, and no entry shares
  // bytes with another, so there should be room; if compressed it does not fit,
  // the filter makes place for it, and then one block after the other.
  void Mend(std::string* table) {
    table->resize(size_, '\0');
    if (!damage_.lost_index && !damage_.lost_filter &&
        PutTail(EndOf(metaindex_), &metaindex_, table)) {
      return;
    }
    while (!PutTail(kept_.empty() ? 0 : kept_.back().end, nullptr, table)) {
      assert(!kept_.empty());
      kept_.pop_back();
    }
  }

 private:
  struct IndexEntry {
    std::string key;
    std::string handle;
    uint64_t end;  // of the block
  };

  static uint64_t EndOf(const BlockHandle& handle) {
    return handle.offset() + handle.size() + kBlockTrailerSize;
  }

  bool ReadFooter(Footer* footer) const {
    char scratch[Footer::kEncodedLength];
    Slice input;
    return file_
               .Read(size_ - Footer::kEncodedLength, Footer::kEncodedLength,
                     &input, scratch)
               .ok() &&
           footer->DecodeFrom(&input).ok();
  }

  bool ReadContents(const BlockHandle& handle, BlockContents* contents) const {
    // A handle that makes no sense may ask for more memory than there is.
    const uint64_t end = size_ - Footer::kEncodedLength;
    if (handle.offset() > end || handle.size() > end - handle.offset()) {
      return false;
    }
    ReadOptions options;
    options.verify_checksums = true;
    return ReadBlock(const_cast<TableInMemory*>(&file_), options, handle,
                     contents)
        .ok();
  }

  std::unique_ptr<Block> ReadEntries(const BlockHandle& handle) const {
    BlockContents contents;
    return ReadContents(handle, &contents) ? std::make_unique<Block>(contents)
                                           : nullptr;
  }

  bool ReadIndex(const BlockHandle& handle) {
    const std::unique_ptr<Block> index = ReadEntries(handle);
    if (index == nullptr) return false;
    const std::unique_ptr<Iterator> entries(index->NewIterator(&comparator_));
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      BlockHandle block;
      Slice input = entries->value();
      damage_.blocks++;
      if (block.DecodeFrom(&input).ok() && CanBeRead(block)) {
        kept_.push_back({entries->key().ToString(), entries->value().ToString(),
                         EndOf(block)});
      } else {
        damage_.lost_blocks++;
      }
    }
    return entries->status().ok();
  }

  // Whether a data block can, and goes on where the last one ended.
  bool CanBeRead(const BlockHandle& handle) {
    const std::unique_ptr<Block> block = ReadEntries(handle);
    if (block == nullptr) return false;
    const std::unique_ptr<Iterator> entries(block->NewIterator(&comparator_));
    std::string last = last_key_;
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      const Slice key = entries->key();
      ParsedInternalKey parsed;
      if (!ParseInternalKey(key, &parsed) ||
          comparator_.Compare(key, table_.smallest.Encode()) < 0 ||
          comparator_.Compare(key, table_.largest.Encode()) > 0 ||
          (!last.empty() && comparator_.Compare(key, last) <= 0)) {
        return false;
      }
      last.assign(key.data(), key.size());
    }
    if (!entries->status().ok()) return false;
    last_key_ = std::move(last);
    return true;
  }

  bool MetaBlocksCanBeRead() const {
    const std::unique_ptr<Block> metaindex = ReadEntries(metaindex_);
    if (metaindex == nullptr) return false;
    const std::unique_ptr<Iterator> entries(
        metaindex->NewIterator(BytewiseComparator()));
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      BlockHandle handle;
      Slice input = entries->value();
      BlockContents contents;
      if (!handle.DecodeFrom(&input).ok() || !ReadContents(handle, &contents)) {
        return false;
      }
      if (contents.heap_allocated) delete[] contents.data.data();
    }
    return entries->status().ok();
  }

  // Fills *table from "begin" on with an empty metaindex, unless there is one,
  // the index, and the footer.  Returns false if there is no room for them.
  bool PutTail(uint64_t begin, const BlockHandle* metaindex,
               std::string* table) const {
    Options options;
    options.comparator = &comparator_;
    options.block_restart_interval = 1;
    std::string tail;
    Footer footer;
    BlockHandle handle;
    if (metaindex == nullptr) {
      BlockBuilder empty(&options);
      AppendBlock(empty.Finish(), &tail);
      handle.set_offset(begin);
      handle.set_size(tail.size() - kBlockTrailerSize);
      footer.set_metaindex_handle(handle);
    } else {
      footer.set_metaindex_handle(*metaindex);
    }
    BlockBuilder index(&options);
    for (const IndexEntry& entry : kept_) index.Add(entry.key, entry.handle);
    handle.set_offset(begin + tail.size());
    AppendBlock(index.Finish(), &tail);
    handle.set_size(begin + tail.size() - handle.offset() - kBlockTrailerSize);
    footer.set_index_handle(handle);
    const uint64_t end = size_ - Footer::kEncodedLength;
    if (begin > end || tail.size() > end - begin) return false;
    tail.resize(end - begin, '\0');
    std::string footer_bytes;
    footer.EncodeTo(&footer_bytes);
    table->replace(begin, std::string::npos, tail + footer_bytes);
    return true;
  }

  const InternalKeyComparator& comparator_;
  const FileMetaData& table_;
  const size_t size_;
  const TableInMemory file_;
  TableDamage damage_;
  BlockHandle metaindex_;
  std::vector<IndexEntry> kept_;
  std::string last_key_;  // of the blocks so far
};

}  // namespace

TableDamage MendTable(const InternalKeyComparator& comparator,
                      const FileMetaData& table, const Slice& bytes,
                      std::string* mended) {
  assert(table.file_size >= kSmallestTable);
  mended->clear();
  TableMender mender(comparator, table, bytes);
  const TableDamage damage = mender.Read();
  if (damage.any()) {
    mended->assign(bytes.data(),
                   std::min<size_t>(bytes.size(), table.file_size));
    mender.Mend(mended);
  }
  return damage;
}

}  // namespace leveldb
