#include <memory>
#include <string>
#include <utility>

#include "db/filename.h"
#include "db/table_cache.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/table.h"
#include "util/mutexlock.h"

namespace leveldb {

namespace {

// One table in the copy of a file.
class TableInCopy : public RandomAccessFile {
 public:
  TableInCopy(std::shared_ptr<const std::string> copy, const Slice& table)
      : copy_(std::move(copy)), table_(table) {}

  Status Read(uint64_t offset, size_t n, Slice* result,
              char* /*scratch*/) const override {
    if (offset > table_.size() || n > table_.size() - offset) {
      return Status::Corruption("read behind the end of a table");
    }
    *result = Slice(table_.data() + offset, n);
    return Status::OK();
  }

 private:
  const std::shared_ptr<const std::string> copy_;
  const Slice table_;
};

struct OpenCopy {
  static void Delete(void* copy, void* /*unused*/) {
    delete static_cast<OpenCopy*>(copy);
  }

  std::unique_ptr<RandomAccessFile> file;
  std::unique_ptr<Table> table;  // reads the file, and goes before it
};

}  // namespace

// The tables of one file share its copy for as long as one of them is read.
Iterator* TableCache::NewIteratorOverCopy(const ReadOptions& options,
                                          uint64_t file_number,
                                          uint64_t file_size) {
  const auto [file, offset] = PlaceOf(file_number);
  std::shared_ptr<const std::string> copy;
  Status s = CopyFile(file, &copy);
  if (s.ok() && offset + file_size > copy->size()) {
    s = Status::Corruption(TableFileName(dbname_, file), "file is too short");
  }
  if (!s.ok()) return NewErrorIterator(s);
  auto open = std::make_unique<OpenCopy>();
  open->file = std::make_unique<TableInCopy>(
      copy, Slice(copy->data() + offset, file_size));
  Options of_copy = options_;
  of_copy.block_cache = nullptr;
  of_copy.filter_policy = nullptr;
  Table* table;
  s = Table::Open(of_copy, open->file.get(), file_size, &table);
  if (!s.ok()) return NewErrorIterator(s);
  open->table.reset(table);
  Iterator* const iterator = table->NewIterator(options);
  iterator->RegisterCleanup(&OpenCopy::Delete, open.release(), nullptr);
  return iterator;
}

Status TableCache::CopyFile(uint64_t file_number,
                            std::shared_ptr<const std::string>* copy) {
  MutexLock lock(&copies_mutex_);
  *copy = copies_[file_number].lock();
  if (*copy != nullptr) return Status::OK();
  for (auto i = copies_.begin(); i != copies_.end();) {
    i = i->second.expired() ? copies_.erase(i) : std::next(i);
  }
  std::string name = TableFileName(dbname_, file_number);
  if (!env_->FileExists(name)) name = SSTTableFileName(dbname_, file_number);
  uint64_t size;
  SequentialFile* opened;
  Status s = env_->GetFileSize(name, &size);
  if (s.ok()) s = env_->NewSequentialFile(name, &opened);
  if (!s.ok()) return s;
  const std::unique_ptr<SequentialFile> file(opened);
  auto read = std::make_shared<std::string>(size, '\0');
  Slice data;
  s = file->Read(size, &data, read->data());
  if (s.ok() && data.size() < size) {
    s = Status::IOError(name, "is shorter than a moment ago");
  }
  if (!s.ok()) return s;
  if (data.data() != read->data()) read->assign(data.data(), data.size());
  copies_[file_number] = read;
  *copy = std::move(read);
  return s;
}

}  // namespace leveldb
