#ifndef RECOMPACT_ENGINES_PCP_PIPELINE_H_
#define RECOMPACT_ENGINES_PCP_PIPELINE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "leveldb/status.h"
#include "pcp/compaction_plan.h"
#include "pcp/output_tables.h"
#include "pcp/subtask_steps.h"
#include "seams/statistics.h"

namespace leveldb {

class Compaction;
class CompactionRunner;

// How a compaction is carried out.
struct PipelineSettings {
  bool pipelined = true;  // otherwise one thread does one step after another
  int read_threads = 1;
  int compute_threads = 1;
  int write_threads = 1;
  int queue_depth = 2;  // sub-tasks that may wait between two stages
};

// What a stage did with a sub-task.
struct StageSpan {
  enum Stage { kRead, kCompute, kWrite };

  size_t subtask;
  Stage stage;
  int thread;  // within the stage
  int64_t begin_us, end_us;
};

// What became of the sub-tasks of a compaction.
struct PipelineRecord {
  std::vector<StageSpan> spans;
  // Sums over time of the sub-tasks that wait between two stages.
  int64_t read_queue_us = 0;
  int64_t write_queue_us = 0;
};

// Carries out the sub-tasks of one compaction: strictly in turn (SCP), or with
// stages that read, compute and write at the same time, each on threads of its
// own (PCP; C-PPCP and S-PPCP with several of them; PCP III).  The tables are
// the same in each case.
class Pipeline : public std::enable_shared_from_this<Pipeline> {
 public:
  // REQUIRES: all outlive Run()
  Pipeline(const PipelineSettings& settings, const MergeRules& rules,
           CompactionRunner* runner, OutputTables* outputs);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Returns when nothing runs any more: all is done, or the first error stopped
  // every stage.  Flushes memtables on the calling thread, while the stages go
  // on or between two sub-tasks; adds to *flush_micros how long that held the
  // sub-tasks up.
  Status Run(int64_t* flush_micros);

  // A memtable waits to be flushed.
  void OnImmutableMemTable();

  // REQUIRES: Run() has returned
  const PipelineRecord& record() const { return record_; }

 private:
  struct ThreadStart;
  using Clock = std::chrono::steady_clock;

  Status RunInTurn(int64_t* flush_micros);

  // Starts the threads of all stages, or as many as there are to be had.
  // Returns false if a stage has none, when no thread is left running.
  bool StartStages();
  Status RunStages();

  // The threads of a stage: each takes sub-tasks, or parts of them, until there
  // are none or an error stops all.
  static void RunThread(void* start);
  void ReadAll(int thread);
  void BuildAll(int thread);
  void WriteAll(int thread);

  // One step, timed.
  Status Read(size_t number, int thread, RawSubtask* raw);
  Status Build(size_t number, int thread, const RawSubtask& raw,
               BuiltSubtask* built);
  Status Write(size_t number, int thread, const OutputTables::Chunk& chunk);

  // Not OK if the database is being closed.
  Status CheckShutdown() const;
  void AddSpan(size_t number, StageSpan::Stage stage, int thread,
               Clock::time_point begin);
  int64_t MicrosUntil(Clock::time_point time) const;

  // REQUIRES: mutex_ is held
  void FailLocked(const Status& status);
  // Adds what has waited since the last call to the sums of the record.
  void CountWaitingLocked();
  // The first chunk that nobody has to wait for, or the end.
  std::deque<OutputTables::Chunk>::iterator NextChunkLocked();

  const PipelineSettings settings_;
  const MergeRules rules_;
  CompactionRunner* const runner_;
  OutputTables* const outputs_;
  const char* const action_;  // of the thread that calls Run()
  const size_t count_;        // of sub-tasks
  const Clock::time_point start_ = Clock::now();

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::condition_variable caller_;  // has something to do
  Status status_;                   // the first error
  int running_threads_ = 0;
  bool memtable_waits_ = false;
  size_t next_read_ = 0, next_build_ = 0, next_cut_ = 0;  // to begin with
  std::map<size_t, RawSubtask> raw_;                      // read, not begun
  KnownBlocks known_blocks_;
  std::map<size_t, std::shared_ptr<const BuiltSubtask>> built_;  // not cut
  bool cutting_ = false;
  std::deque<OutputTables::Chunk> chunks_;
  std::set<const OutputTables::Table*> being_written_;
  Clock::time_point counted_until_ = start_;
  PipelineRecord record_;
  StageTimes times_ = {};  // of threads that have ended
};

}  // namespace leveldb

#endif  // RECOMPACT_ENGINES_PCP_PIPELINE_H_
