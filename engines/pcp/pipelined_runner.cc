#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "db/version_set.h"
#include "pcp/compaction_plan.h"
#include "pcp/output_tables.h"
#include "pcp/pipeline.h"
#include "pcp/tuner.h"
#include "seams/compaction_runner.h"
#include "seams/statistics.h"

namespace leveldb {

namespace {

// Upstream's bound on what one compaction takes in, in tables.
constexpr uint64_t kLargestCompactionTables = 25;

// Files other than tables, as upstream counts them.
constexpr int kOtherFiles = 10;

uint64_t InputBytes(const Compaction& c) {
  uint64_t bytes = c.parts() == nullptr ? 0 : c.parts()->bytes();
  for (int which = 0; which < 2; which++) {
    for (int i = 0; i < c.num_input_files(which); i++) {
      bytes += c.input(which, i)->file_size;
    }
  }
  return bytes;
}

// Carries compactions out in sub-tasks: sequential, pipelined, computation- and
// storage-parallel (PCP III).
class PipelinedRunner : public CompactionRunner {
 public:
  explicit PipelinedRunner(DBImpl* db) : CompactionRunner(db) {}

  Status CheckOptions() const override;
  bool MovesData() const override { return options().subtask_bytes > 0; }
  Status MoveData(Compaction* c, SequenceNumber smallest_snapshot,
                  std::vector<FileMetaData>* tables,
                  int64_t* flush_micros) override;
  void OnImmutableMemTable() override;

 private:
  PipelineTuner::Choice Choose(const Compaction& c);
  void Learn(const CompactionPlan& plan, const PipelineRecord& record);
  void Report(const CompactionPlan& plan, const PipelineTuner::Choice& choice,
              const PipelineSettings& settings,
              const PipelineRecord& record) const;

  std::unique_ptr<PipelineTuner> tuner_;
  std::mutex mutex_;
  std::shared_ptr<Pipeline> running_;  // guarded by mutex_
};

Status PipelinedRunner::CheckOptions() const {
  const Options& o = options();
  if (MovesData()) {
    const Status s = OutputTables::CheckPicker(picker());
    if (!s.ok()) return s;
  }
  const std::pair<const char*, int> counts[] = {
      {"read_threads", o.read_threads},
      {"compute_threads", o.compute_threads},
      {"write_threads", o.write_threads},
      {"pipeline_queue_depth", o.pipeline_queue_depth}};
  for (const auto& [name, count] : counts) {
    if (count < 1) {
      return Status::InvalidArgument(std::string(name) + ": is " +
                                     std::to_string(count) +
                                     "; give at least 1");
    }
  }
  const int threads = o.read_threads + o.compute_threads + o.write_threads;
  if (threads > o.max_open_files - kOtherFiles) {
    return Status::InvalidArgument(
        "read_threads, compute_threads, write_threads: " +
            std::to_string(threads) + " together, but max_open_files allows " +
            std::to_string(o.max_open_files - kOtherFiles) + " open tables",
        "give fewer threads or more files");
  }
  const uint64_t largest = std::max({Options().subtask_bytes,
                                     kLargestCompactionTables * o.max_file_size,
                                     o.compaction_input_bytes});
  if (o.subtask_bytes > largest) {
    return Status::InvalidArgument(
        "subtask_bytes: " + std::to_string(o.subtask_bytes) +
            " is more than a compaction takes in, " + std::to_string(largest),
        "give fewer bytes or a larger max_file_size");
  }
  return Status::OK();
}

Status PipelinedRunner::MoveData(Compaction* c,
                                 SequenceNumber smallest_snapshot,
                                 std::vector<FileMetaData>* tables,
                                 int64_t* flush_micros) {
  if (!MovesData()) return Status::OK();
  const auto& comparator =
      *static_cast<const InternalKeyComparator*>(options().comparator);
  const PipelineTuner::Choice choice = Choose(*c);
  const CompactionPlan plan(*c, comparator, this->tables(),
                            choice.subtask_bytes);
  if (!plan.status().ok()) return plan.status();

  PipelineSettings settings;
  settings.pipelined = options().pipelined_compaction;
  settings.read_threads = options().read_threads;
  settings.compute_threads = choice.compute_threads;
  settings.write_threads = options().write_threads;
  settings.queue_depth = choice.queue_depth;
  OutputTables outputs(this, c);
  const MergeRules rules{*c, plan, comparator, options(), smallest_snapshot};
  const auto pipeline =
      std::make_shared<Pipeline>(settings, rules, this, &outputs);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    running_ = pipeline;
  }
  const Status s = pipeline->Run(flush_micros);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    running_.reset();
  }
  *tables = outputs.Take();
  if (s.ok()) {
    if (tuner_ != nullptr) Learn(plan, pipeline->record());
    Report(plan, choice, settings, pipeline->record());
  }
  return s;
}

void PipelinedRunner::OnImmutableMemTable() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (running_ != nullptr) running_->OnImmutableMemTable();
}

PipelineTuner::Choice PipelinedRunner::Choose(const Compaction& c) {
  const PipelineTuner::Choice fixed{options().subtask_bytes,
                                    options().compute_threads,
                                    options().pipeline_queue_depth};
  if (!options().adaptive_pipeline || !options().pipelined_compaction) {
    return fixed;
  }
  if (tuner_ == nullptr) {
    const int processors =
        static_cast<int>(std::thread::hardware_concurrency());
    tuner_ = std::make_unique<PipelineTuner>(
        fixed, std::max(processors, fixed.compute_threads));
  }
  return tuner_->Choose(InputBytes(c));
}

void PipelinedRunner::Learn(const CompactionPlan& plan,
                            const PipelineRecord& record) {
  std::vector<std::array<int64_t, 3>> micros(plan.subtasks().size());
  int64_t end_us = 0;
  for (const StageSpan& span : record.spans) {
    micros[span.subtask][span.stage] += span.end_us - span.begin_us;
    end_us = std::max(end_us, span.end_us);
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < micros.size(); i++) {
    tuner_->Learn(plan.subtasks()[i].bytes, micros[i][StageSpan::kRead],
                  micros[i][StageSpan::kCompute], micros[i][StageSpan::kWrite]);
    bytes += plan.subtasks()[i].bytes;
  }
  tuner_->LearnWhole(bytes, end_us);
}

void PipelinedRunner::Report(const CompactionPlan& plan,
                             const PipelineTuner::Choice& choice,
                             const PipelineSettings& settings,
                             const PipelineRecord& record) const {
  Statistics* const statistics = options().statistics;
  RecordTick(statistics, kCompactionSubtasks, plan.subtasks().size());
  RecordTick(statistics, kCompactionReadQueueMicros, record.read_queue_us);
  RecordTick(statistics, kCompactionWriteQueueMicros, record.write_queue_us);
  const auto member = [](const char* name, uint64_t value) {
    return std::string("\"") + name + "\": " + std::to_string(value) + ", ";
  };
  static const char* const kStageNames[] = {"read", "compute", "write"};
  std::string spans;
  for (const StageSpan& span : record.spans) {
    if (!spans.empty()) spans += ", ";
    spans += "[" + std::to_string(span.subtask) + ", \"" +
             kStageNames[span.stage] + "\", " + std::to_string(span.thread) +
             ", " + std::to_string(span.begin_us) + ", " +
             std::to_string(span.end_us) + "]";
  }
  AddToEvent(member("subtasks", plan.subtasks().size()) +
             member("subtask_bytes", choice.subtask_bytes) +
             member("read_threads", settings.read_threads) +
             member("compute_threads", settings.compute_threads) +
             member("write_threads", settings.write_threads) +
             member("queue_depth", settings.queue_depth) +
             member("readq_us", record.read_queue_us) +
             member("writeq_us", record.write_queue_us) + "\"spans\": [" +
             spans + "]");
}

}  // namespace

CompactionRunner* NewCompactionRunner(DBImpl* db) {
  return new PipelinedRunner(db);
}

}  // namespace leveldb
