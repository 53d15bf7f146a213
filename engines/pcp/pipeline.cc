#include "pcp/pipeline.h"

#include <algorithm>
#include <utility>

#include "leveldb/env.h"
#include "seams/compaction_runner.h"
#include "seams/current_action.h"

namespace leveldb {

struct Pipeline::ThreadStart {
  std::shared_ptr<Pipeline> pipeline;  // Outlives the thread's last step
  void (Pipeline::*stage)(int thread);
  int thread;
};

Pipeline::Pipeline(const PipelineSettings& settings, const MergeRules& rules,
                   CompactionRunner* runner, OutputTables* outputs)
    : settings_(settings),
      rules_(rules),
      runner_(runner),
      outputs_(outputs),
      action_(CurrentAction()),
      count_(rules.plan.subtasks().size()) {}

Status Pipeline::Run(int64_t* flush_micros) {
  if (settings_.pipelined && StartStages()) return RunStages();
  return RunInTurn(flush_micros);
}

Status Pipeline::RunInTurn(int64_t* flush_micros) {
  Status s;
  for (size_t number = 0; s.ok() && number < count_; number++) {
    if (runner_->HasImmutableMemTable()) {
      const Clock::time_point begin = Clock::now();
      runner_->FlushImmutableMemTable();
      *flush_micros += MicrosUntil(Clock::now()) - MicrosUntil(begin);
    }
    s = CheckShutdown();
    RawSubtask raw;
    if (s.ok()) s = Read(number, 0, &raw);
    if (!s.ok()) break;
    known_blocks_.Complete(rules_.plan.subtasks()[number], &raw);
    const auto built = std::make_shared<BuiltSubtask>();
    s = Build(number, 0, raw, built.get());
    if (!s.ok()) break;
    for (const auto& chunk : outputs_->Cut(built, number + 1 == count_)) {
      if (s.ok()) s = Write(chunk.subtask, 0, chunk);
    }
  }
  return s;
}

bool Pipeline::StartStages() {
  std::unique_lock<std::mutex> lock(mutex_);  // They wait until all have begun
  const std::pair<void (Pipeline::*)(int), int> stages[] = {
      {&Pipeline::ReadAll, settings_.read_threads},
      {&Pipeline::BuildAll, settings_.compute_threads},
      {&Pipeline::WriteAll, settings_.write_threads}};
  for (const auto& [stage, threads] : stages) {
    for (int thread = 0; thread < threads; thread++) {
      auto start = std::make_unique<ThreadStart>(
          ThreadStart{shared_from_this(), stage, thread});
      const Status s =
          runner_->env()->TryToStartThread(&RunThread, start.get());
      if (s.ok()) {
        start.release();
        running_threads_++;
      } else if (thread == 0) {
        // A stage that nobody works on: those that have begun end again.
        status_ = s;
        while (running_threads_ > 0) caller_.wait(lock);
        status_ = Status::OK();
        return false;
      } else {
        break;
      }
    }
  }
  return true;
}

Status Pipeline::RunStages() {
  std::unique_lock<std::mutex> lock(mutex_);
  // One that became full before OnImmutableMemTable() could be called.
  memtable_waits_ |= runner_->HasImmutableMemTable();
  while (running_threads_ > 0) {
    if (!memtable_waits_) {
      caller_.wait(lock);
      continue;
    }
    memtable_waits_ = false;
    lock.unlock();
    runner_->FlushImmutableMemTable();
    lock.lock();
  }
  AddActionTimes(times_);
  return status_;
}

void Pipeline::OnImmutableMemTable() {
  std::lock_guard<std::mutex> lock(mutex_);
  memtable_waits_ = true;
  caller_.notify_one();
}

void Pipeline::RunThread(void* arg) {
  const std::unique_ptr<ThreadStart> start(static_cast<ThreadStart*>(arg));
  Pipeline* const pipeline = start->pipeline.get();
  const BackgroundScope background;
  const ActionScope action(pipeline->action_);
  (pipeline->*start->stage)(start->thread);
  std::lock_guard<std::mutex> lock(pipeline->mutex_);
  const StageTimes times = ActionTimes();
  for (int stage = 0; stage < kNumStages; stage++) {
    pipeline->times_[stage] += times[stage];
  }
  pipeline->running_threads_--;
  pipeline->caller_.notify_one();
}

void Pipeline::ReadAll(int thread) {
  std::unique_lock<std::mutex> lock(mutex_);
  const size_t ahead = settings_.queue_depth + settings_.read_threads;
  while (status_.ok() && next_read_ < count_) {
    if (next_read_ - next_build_ >= ahead) {
      changed_.wait(lock);
      continue;
    }
    const size_t number = next_read_++;
    lock.unlock();
    RawSubtask raw;
    const Status s = Read(number, thread, &raw);
    lock.lock();
    CountWaitingLocked();
    if (s.ok()) raw_.emplace(number, std::move(raw));
    FailLocked(s);
    changed_.notify_all();
  }
}

void Pipeline::BuildAll(int thread) {
  std::unique_lock<std::mutex> lock(mutex_);
  const size_t ahead = settings_.queue_depth + settings_.compute_threads;
  while (status_.ok() && next_build_ < count_) {
    const auto read = raw_.find(next_build_);
    if (read == raw_.end() || next_build_ - next_cut_ >= ahead) {
      changed_.wait(lock);
      continue;
    }
    CountWaitingLocked();
    const size_t number = next_build_++;
    RawSubtask raw = std::move(read->second);
    raw_.erase(read);
    known_blocks_.Complete(rules_.plan.subtasks()[number], &raw);
    changed_.notify_all();
    lock.unlock();
    auto built = std::make_shared<BuiltSubtask>();
    const Status s = Build(number, thread, raw, built.get());
    lock.lock();
    CountWaitingLocked();
    if (s.ok()) built_.emplace(number, std::move(built));
    FailLocked(s);
    changed_.notify_all();
  }
}

void Pipeline::WriteAll(int thread) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (status_.ok()) {
    const auto next = NextChunkLocked();
    const auto built = built_.find(next_cut_);
    if (next != chunks_.end()) {
      const OutputTables::Chunk chunk = *next;
      chunks_.erase(next);
      being_written_.insert(chunk.table);
      lock.unlock();
      const Status s = Write(chunk.subtask, thread, chunk);
      lock.lock();
      being_written_.erase(chunk.table);
      FailLocked(s);
    } else if (!cutting_ && built != built_.end() &&
               chunks_.size() < static_cast<size_t>(settings_.write_threads)) {
      CountWaitingLocked();
      const std::shared_ptr<const BuiltSubtask> taken = built->second;
      built_.erase(built);
      cutting_ = true;
      const bool is_last = next_cut_ + 1 == count_;
      lock.unlock();
      const std::vector<OutputTables::Chunk> cut =
          outputs_->Cut(taken, is_last);
      lock.lock();
      chunks_.insert(chunks_.end(), cut.begin(), cut.end());
      next_cut_++;
      cutting_ = false;
    } else if (next_cut_ == count_ && chunks_.empty()) {
      break;
    } else {
      changed_.wait(lock);
      continue;
    }
    changed_.notify_all();
  }
}

std::deque<OutputTables::Chunk>::iterator Pipeline::NextChunkLocked() {
  // Those of one table keep their order: while one is written, the others wait.
  return std::find_if(chunks_.begin(), chunks_.end(), [this](const auto& c) {
    return being_written_.count(c.table) == 0;
  });
}

Status Pipeline::Read(size_t number, int thread, RawSubtask* raw) {
  const Clock::time_point begin = Clock::now();
  Status s = CheckShutdown();
  if (s.ok()) s = ReadSubtask(rules_.plan, rules_.plan.subtasks()[number], raw);
  AddSpan(number, StageSpan::kRead, thread, begin);
  return s;
}

Status Pipeline::Build(size_t number, int thread, const RawSubtask& raw,
                       BuiltSubtask* built) {
  const Clock::time_point begin = Clock::now();
  Status s = CheckShutdown();
  if (s.ok()) s = BuildSubtask(rules_, number, raw, built);
  AddSpan(number, StageSpan::kCompute, thread, begin);
  return s;
}

Status Pipeline::Write(size_t number, int thread,
                       const OutputTables::Chunk& chunk) {
  const Clock::time_point begin = Clock::now();
  Status s = CheckShutdown();
  if (s.ok()) s = outputs_->Write(chunk);
  AddSpan(number, StageSpan::kWrite, thread, begin);
  return s;
}

Status Pipeline::CheckShutdown() const {
  return runner_->IsShuttingDown()
             ? Status::IOError("Deleting DB during compaction")
             : Status::OK();
}

void Pipeline::AddSpan(size_t number, StageSpan::Stage stage, int thread,
                       Clock::time_point begin) {
  const Clock::time_point end = Clock::now();
  std::lock_guard<std::mutex> lock(mutex_);
  record_.spans.push_back(
      {number, stage, thread, MicrosUntil(begin), MicrosUntil(end)});
}

int64_t Pipeline::MicrosUntil(Clock::time_point time) const {
  return std::chrono::duration_cast<std::chrono::microseconds>(time - start_)
      .count();
}

void Pipeline::FailLocked(const Status& status) {
  if (status_.ok()) status_ = status;
}

void Pipeline::CountWaitingLocked() {
  const Clock::time_point now = Clock::now();
  const int64_t micros = MicrosUntil(now) - MicrosUntil(counted_until_);
  record_.read_queue_us += micros * static_cast<int64_t>(raw_.size());
  record_.write_queue_us += micros * static_cast<int64_t>(built_.size());
  counted_until_ = now;
}

}  // namespace leveldb
