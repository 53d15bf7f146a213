#include "pcp/subtask_steps.h"

#include <optional>

#include "db/version_set.h"
#include "leveldb/env.h"
#include "leveldb/table_builder.h"
#include "port/port.h"
#include "seams/statistics.h"
#include "seams/table_parts.h"
#include "table/block.h"
#include "table/format.h"
#include "table/merger.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace leveldb {

namespace {

Status ReadExtent(const RandomAccessFile& file, uint64_t offset, size_t bytes,
                  std::shared_ptr<const Extent>* result) {
  auto extent = std::make_shared<Extent>();
  extent->file = &file;
  extent->offset = offset;
  extent->buffer.reset(new char[bytes]);
  Status s = file.Read(offset, bytes, &extent->data, extent->buffer.get());
  if (s.ok() && extent->data.size() != bytes) {
    s = Status::Corruption("truncated block read");
  }
  *result = std::move(extent);
  return s;
}

// Steps 2 and 3: the entries of one piece, within the range of its sub-task and
// its part.  Goes forward only.
class PieceIterator : public Iterator {
 public:
  // REQUIRES: all arguments outlive the iterator
  PieceIterator(const MergeRules& rules, size_t number,
                const Subtask::Piece& piece,
                const std::vector<std::shared_ptr<const Extent>>& extents)
      : comparator_(rules.comparator),
        run_(rules.plan.runs()[piece.run]),
        piece_(piece),
        extents_(extents) {
    const std::vector<Subtask>& subtasks = rules.plan.subtasks();
    if (number > 0) BeginAfter(subtasks[number - 1].end);
    if (!subtasks[number].is_last) EndWith(subtasks[number].end);
    if (run_.part == nullptr) return;
    const InternalKey before(run_.part->begin, kMaxSequenceNumber,
                             kValueTypeForSeek);
    const InternalKey after(run_.part->begin, 0, static_cast<ValueType>(0));
    BeginAfter((run_.part->excludes_begin ? after : before).Encode());
    EndWith(InternalKey(run_.part->end, 0, static_cast<ValueType>(0)).Encode());
  }

  void SeekToFirst() override {
    block_ = piece_.begin;
    extent_ = 0;
    OpenBlock();
    Settle();
  }
  void Next() override {
    entries_->Next();
    Settle();
  }
  bool Valid() const override { return entries_ != nullptr; }
  Slice key() const override { return entries_->key(); }
  Slice value() const override { return entries_->value(); }
  Status status() const override { return status_; }

  void Seek(const Slice&) override { assert(false); }
  void SeekToLast() override { assert(false); }
  void Prev() override { assert(false); }

 private:
  bool IsAfter(const Slice& a, const Slice& b) const {
    return comparator_.Compare(a, b) > 0;
  }

  // Of several bounds the narrowest counts.
  void BeginAfter(const Slice& key) {
    if (!begin_ || IsAfter(key, *begin_)) begin_ = key.ToString();
  }
  void EndWith(const Slice& key) {
    if (!end_ || IsAfter(*end_, key)) end_ = key.ToString();
  }

  // Goes on to the next block where one has ended, and ends with the range.
  void Settle() {
    while (entries_ != nullptr && !entries_->Valid()) {
      status_ = entries_->status();
      block_++;
      OpenBlock();
    }
    if (entries_ != nullptr && reaches_end_ &&
        IsAfter(entries_->key(), *end_)) {
      entries_.reset();
    }
  }

  // To the first entry of the range in the block, which may have none.
  void OpenBlock() {
    entries_.reset();
    contents_.reset();
    if (!status_.ok() || block_ == piece_.end) return;
    const InputBlock& block = run_.blocks[block_];
    while (!extents_[extent_]->Holds(block)) extent_++;
    const Extent& extent = *extents_[extent_];
    status_ = Decode(extent.data.data() + (block.offset - extent.offset),
                     block.bytes - kBlockTrailerSize);
    if (!status_.ok()) return;
    reaches_end_ = end_ && !IsAfter(*end_, block.limit);
    entries_.reset(contents_->NewIterator(&comparator_));
    if (begin_ && !IsAfter(block.lower_bound, *begin_)) {
      entries_->Seek(*begin_);
      if (entries_->Valid() && entries_->key() == Slice(*begin_)) {
        entries_->Next();
      }
    } else {
      entries_->SeekToFirst();
    }
  }

  // "data" is a block of n bytes with its trailer behind it.
  Status Decode(const char* data, size_t n) {
    {
      const StageTimer timer(kStageCrc);
      if (crc32c::Value(data, n + 1) !=
          crc32c::Unmask(DecodeFixed32(data + n + 1))) {
        return Status::Corruption("block checksum mismatch");
      }
    }
    const StageTimer timer(kStageDecompress);
    BlockContents contents{Slice(data, n), false, false};
    size_t size = 0;
    switch (data[n]) {
      case kNoCompression:
        break;
      case kSnappyCompression: {
        if (!port::Snappy_GetUncompressedLength(data, n, &size)) {
          return Status::Corruption("corrupted compressed block contents");
        }
        char* const buffer = new char[size];
        contents = {Slice(buffer, size), false, true};
        if (!port::Snappy_Uncompress(data, n, buffer)) {
          delete[] buffer;
          return Status::Corruption("corrupted compressed block contents");
        }
        break;
      }
      default:
        return Status::Corruption("bad block type");
    }
    contents_ = std::make_unique<Block>(contents);
    return Status::OK();
  }

  const InternalKeyComparator& comparator_;
  const InputRun& run_;
  const Subtask::Piece& piece_;
  const std::vector<std::shared_ptr<const Extent>>& extents_;
  std::optional<std::string> begin_;  // internal key before the first entry
  std::optional<std::string> end_;    // and one at or after the last
  size_t block_ = 0;
  size_t extent_ = 0;
  bool reaches_end_ = false;  // the block may have entries after it
  std::unique_ptr<Block> contents_;
  std::unique_ptr<Iterator> entries_;  // of contents_
  Status status_;
};

// Takes what a TableBuilder writes.
class BlockRecorder : public WritableFile {
 public:
  explicit BlockRecorder(std::string* contents) : contents_(contents) {}

  Status Append(const Slice& data) override {
    const StageTimer timer(kStageSort);  // No writing yet
    contents_->append(data.data(), data.size());
    return Status::OK();
  }
  Status Flush() override { return Status::OK(); }
  Status Sync() override { return Status::OK(); }
  Status Close() override { return Status::OK(); }

 private:
  std::string* const contents_;
};

// Builds the blocks of a sub-task with upstream's builder, whose tables are
// never finished.
class SubtaskBuilder {
 public:
  SubtaskBuilder(const Options& options, BuiltSubtask* built)
      : built_(built),
        keeps_keys_(options.filter_policy != nullptr),
        recorder_(&built->contents),
        builder_(WithoutFilter(options), &recorder_) {}
  ~SubtaskBuilder() { builder_.Abandon(); }

  void Add(const Slice& key, const Slice& value) {
    if (block_.entries == 0) block_.first_key.assign(key.data(), key.size());
    block_.last_key.assign(key.data(), key.size());
    block_.entries++;
    if (keeps_keys_) {
      block_.keys.append(key.data(), key.size());
      block_.key_ends.push_back(block_.keys.size());
    }
    builder_.Add(key, value);
    NoteBlock();
  }

  void EndBlock() {
    builder_.Flush();
    NoteBlock();
  }

 private:
  static Options WithoutFilter(Options options) {
    options.filter_policy = nullptr;
    options.statistics = nullptr;  // what is written is counted where it is
    return options;
  }

  // The builder may have written the block.
  void NoteBlock() {
    if (built_->contents.size() == noted_) return;
    block_.bytes = built_->contents.size() - noted_;
    noted_ = built_->contents.size();
    built_->blocks.push_back(std::move(block_));
    block_ = BuiltBlock();
  }

  BuiltSubtask* const built_;
  const bool keeps_keys_;
  BlockRecorder recorder_;
  TableBuilder builder_;
  BuiltBlock block_;
  size_t noted_ = 0;  // bytes of contents
};

}  // namespace

Status ReadSubtask(const CompactionPlan& plan, const Subtask& subtask,
                   RawSubtask* raw) {
  const StageTimer timer(kStageRead);
  raw->extents.resize(subtask.pieces.size());
  for (size_t i = 0; i < subtask.pieces.size(); i++) {
    const Subtask::Piece& piece = subtask.pieces[i];
    const std::vector<InputBlock>& blocks = plan.runs()[piece.run].blocks;
    size_t first = piece.begin + (piece.begins_with_known_block ? 1 : 0);
    while (first < piece.end) {
      const InputBlock& from = blocks[first];
      size_t next = first + 1;
      while (next < piece.end && blocks[next].file == from.file &&
             blocks[next].offset == blocks[next - 1].end()) {
        next++;
      }
      std::shared_ptr<const Extent> extent;
      const Status s =
          ReadExtent(*from.file, from.offset,
                     blocks[next - 1].end() - from.offset, &extent);
      if (!s.ok()) return s;
      raw->extents[i].push_back(std::move(extent));
      first = next;
    }
  }
  return Status::OK();
}

void KnownBlocks::Complete(const Subtask& subtask, RawSubtask* raw) {
  for (size_t i = 0; i < subtask.pieces.size(); i++) {
    std::shared_ptr<const Extent>& last = last_[subtask.pieces[i].run];
    auto& extents = raw->extents[i];
    if (subtask.pieces[i].begins_with_known_block) {
      extents.insert(extents.begin(), last);
    }
    last = extents.back();
  }
}

Status BuildSubtask(const MergeRules& rules, size_t number,
                    const RawSubtask& raw, BuiltSubtask* built) {
  const StageTimer timer(kStageSort);
  const Subtask& subtask = rules.plan.subtasks()[number];
  std::vector<Iterator*> pieces;
  for (size_t i = 0; i < subtask.pieces.size(); i++) {
    pieces.push_back(
        new PieceIterator(rules, number, subtask.pieces[i], raw.extents[i]));
  }
  const std::unique_ptr<Iterator> input(NewMergingIterator(
      &rules.comparator, pieces.data(), static_cast<int>(pieces.size())));
  built->contents.reserve(subtask.bytes);
  SubtaskBuilder builder(rules.options, built);

  const Comparator* const user_comparator = rules.comparator.user_comparator();
  const std::vector<FileMetaData*>& grandparents =
      rules.compaction.grandparents();
  size_t grandparent = 0;
  size_t level_ptrs[config::kNumLevels] = {};
  std::string current_user_key;
  bool has_current_user_key = false;
  SequenceNumber last_sequence_for_key = kMaxSequenceNumber;
  ParsedInternalKey last_of_before;
  if (number > 0 && ParseInternalKey(rules.plan.subtasks()[number - 1].end,
                                     &last_of_before)) {
    // If it is no entry but lies between two, its user key has none after it,
    // or its sequence number is the largest.
    current_user_key = last_of_before.user_key.ToString();
    has_current_user_key = true;
    last_sequence_for_key = last_of_before.sequence;
  }
  for (input->SeekToFirst(); input->Valid(); input->Next()) {
    ParsedInternalKey key;
    bool drop = false;
    if (!ParseInternalKey(input->key(), &key)) {
      has_current_user_key = false;  // An entry that is damaged is kept
      last_sequence_for_key = kMaxSequenceNumber;
    } else {
      if (!has_current_user_key ||
          user_comparator->Compare(key.user_key, current_user_key) != 0) {
        current_user_key.assign(key.user_key.data(), key.user_key.size());
        has_current_user_key = true;
        last_sequence_for_key = kMaxSequenceNumber;
      }
      const bool is_hidden = last_sequence_for_key <= rules.smallest_snapshot;
      drop = is_hidden ||
             (key.type == kTypeDeletion &&
              key.sequence <= rules.smallest_snapshot &&
              rules.compaction.IsBaseLevelForKey(key.user_key, level_ptrs));
      last_sequence_for_key = key.sequence;
      if (drop) built->dropped.Drop(key.type == kTypeDeletion);
    }
    if (drop) continue;
    bool passed = false;
    while (grandparent < grandparents.size() &&
           rules.comparator.Compare(
               input->key(), grandparents[grandparent]->largest.Encode()) > 0) {
      grandparent++;
      passed = true;
    }
    if (passed) builder.EndBlock();
    builder.Add(input->key(), input->value());
  }
  builder.EndBlock();
  return input->status();
}

}  // namespace leveldb
