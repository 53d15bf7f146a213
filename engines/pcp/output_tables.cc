#include "pcp/output_tables.h"

#include "db/table_cache.h"
#include "db/version_set.h"
#include "leveldb/iterator.h"
#include "seams/compaction_picker.h"
#include "seams/compaction_runner.h"
#include "seams/statistics.h"

namespace leveldb {

class OutputTables::Table {
 public:
  Table(CompactionRunner* runner, const Slice& first_key) : runner_(runner) {
    meta_.number = runner->NewTableNumber();
    meta_.smallest.DecodeFrom(first_key);
  }
  ~Table() {
    if (builder_ != nullptr) builder_->Abandon();
  }

  const FileMetaData& meta() const { return meta_; }
  void set_last_key(const Slice& key) { meta_.largest.DecodeFrom(key); }

  Status Write(const Chunk& chunk) {
    Status s;
    {
      const StageTimer timer(kStageWrite);
      if (builder_ == nullptr) s = Create();
      if (!s.ok()) return s;
      if (chunk.begin < chunk.end) {
        builder_->AddBlocks(
            Slice(chunk.from->contents.data() + chunk.begin_byte, chunk.bytes),
            &chunk.from->blocks[chunk.begin], chunk.end - chunk.begin);
      }
      if (!chunk.completes_table) return builder_->status();
      s = builder_->Finish();
      meta_.file_size = builder_->FileSize();
      builder_.reset();
    }
    return s.ok() ? Complete() : s;
  }

 private:
  Status Create() {
    WritableFile* file = nullptr;
    const Status s = runner_->env()->NewWritableFile(
        runner_->TablePath(meta_.number), &file);
    if (!s.ok()) return s;
    file_.reset(file);
    builder_ = std::make_unique<TableBuilder>(runner_->options(), file);
    return s;
  }

  Status Complete() {
    Status s;
    {
      const StageTimer timer(kStageSync);
      s = file_->Sync();
    }
    if (s.ok()) s = file_->Close();
    file_.reset();
    if (!s.ok()) return s;
    // Whether it can be used
    const std::unique_ptr<Iterator> i(runner_->tables()->NewIterator(
        ReadOptions(), meta_.number, meta_.file_size));
    return i->status();
  }

  CompactionRunner* const runner_;
  FileMetaData meta_;
  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<TableBuilder> builder_;  // of file_, until it is complete
};

Status OutputTables::CheckPicker(const CompactionPicker& picker) {
  for (int level = 1; level < config::kNumLevels; level++) {
    if (picker.UseOfRuns(level) != kOwnRuns) continue;
    return Status::InvalidArgument(
        "subtask_bytes",
        "must be 0, since this engine keeps sorted runs and says where their "
        "tables end; or give it another runner");
  }
  return Status::OK();
}

OutputTables::OutputTables(CompactionRunner* runner, Compaction* compaction)
    : runner_(runner), compaction_(compaction) {}

OutputTables::~OutputTables() = default;

std::vector<OutputTables::Chunk> OutputTables::Cut(
    const std::shared_ptr<const BuiltSubtask>& built, bool is_last) {
  compaction_->edit()->counts()->Add(built->dropped);
  std::vector<Chunk> chunks;
  size_t byte = 0;
  for (size_t i = 0; i < built->blocks.size(); i++) {
    const BuiltBlock& block = built->blocks[i];
    should_end_ |= compaction_->ShouldStopBefore(block.first_key);
    if (!GoesOn(block)) {
      if (should_end_) EndTable(&chunks);
      should_end_ = false;
    }
    if (current_ == nullptr) {
      tables_.push_back(std::make_unique<Table>(runner_, block.first_key));
      current_ = tables_.back().get();
      current_bytes_ = 0;
    }
    if (chunks.empty() || chunks.back().table != current_) {
      chunks.push_back({current_, next_subtask_, built, i, i, byte, 0, false});
    }
    chunks.back().end++;
    chunks.back().bytes += block.bytes;
    byte += block.bytes;
    current_->set_last_key(block.last_key);
    current_bytes_ += block.bytes;
    should_end_ |= current_bytes_ >= compaction_->MaxOutputFileSize();
  }
  if (is_last) EndTable(&chunks);
  next_subtask_++;
  return chunks;
}

bool OutputTables::GoesOn(const BuiltBlock& block) const {
  const Options& options = runner_->options();
  if (current_ == nullptr || !options.user_key_aligned_outputs ||
      current_bytes_ >= 2 * options.max_file_size) {
    return false;
  }
  const auto* const comparator =
      static_cast<const InternalKeyComparator*>(options.comparator);
  return comparator->user_comparator()->Compare(
             ExtractUserKey(block.first_key),
             current_->meta().largest.user_key()) == 0;
}

void OutputTables::EndTable(std::vector<Chunk>* chunks) {
  if (current_ == nullptr) return;
  if (chunks->empty() || chunks->back().table != current_) {
    chunks->push_back({current_, next_subtask_, nullptr, 0, 0, 0, 0, false});
  }
  chunks->back().completes_table = true;
  current_ = nullptr;
}

Status OutputTables::Write(const Chunk& chunk) {
  return chunk.table->Write(chunk);
}

std::vector<FileMetaData> OutputTables::Take() const {
  std::vector<FileMetaData> metas;
  for (const auto& table : tables_) metas.push_back(table->meta());
  return metas;
}

}  // namespace leveldb
