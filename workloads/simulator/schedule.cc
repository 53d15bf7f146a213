#include "simulator/schedule.h"

#include <algorithm>

namespace recompact {

Schedule::Schedule(const Processors& processors)
    : processors_(processors),
      before_{processors.ties_to_higher},
      ready_(before_),
      deadlines_(before_),
      free_(processors.count, 0) {}

Schedule::Id Schedule::Add(const std::string& name, SimTime time) {
  const Id id = static_cast<Id>(threads_.size());
  threads_.emplace_back();
  threads_[id].name = name;
  UpdateLeastFair();
  threads_[id].fair = least_fair_;
  MakeReady(id, time);
  return id;
}

void Schedule::Charge(Id id, SimTime duration) {
  Thread& thread = threads_[id];
  thread.now += duration;
  thread.computed += duration;
  thread.fair += duration;
  thread.on_processor += duration;
}

void Schedule::Block(Id id, const std::string& what, SimTime deadline) {
  Thread& thread = threads_[id];
  LeaveProcessor(id);
  thread.state = kWaiting;
  thread.waits_for = what;
  thread.timed_out = false;
  thread.deadline = deadline;
  if (deadline != kNoDeadline) deadlines_.insert({deadline, id});
}

void Schedule::Wake(Id id, SimTime time) {
  Thread& thread = threads_[id];
  if (thread.deadline != kNoDeadline) deadlines_.erase({thread.deadline, id});
  UpdateLeastFair();
  // Who sleeps gains on the others, but no more than a slice.
  thread.fair = std::max(thread.fair, least_fair_ - processors_.slice);
  MakeReady(id, time + processors_.wake_cost);
}

void Schedule::End(Id id) {
  LeaveProcessor(id);
  threads_[id].state = kEnded;
}

Schedule::Id Schedule::Next() {
  while (true) {
    Fill();
    const Id earliest = EarliestRunning();
    if (!deadlines_.empty() &&
        (earliest == kNobody ||
         deadlines_.begin()->first <= threads_[earliest].now)) {
      const auto [deadline, id] = *deadlines_.begin();
      Wake(id, std::max(deadline, threads_[id].now));
      threads_[id].timed_out = true;
      continue;
    }
    if (earliest == kNobody || !Preempted(threads_[earliest])) return earliest;
    LeaveProcessor(earliest);
    MakeReady(earliest, threads_[earliest].now);
  }
}

void Schedule::MakeReady(Id id, SimTime time) {
  Thread& thread = threads_[id];
  thread.state = kReady;
  thread.now = std::max(thread.now, time);
  ready_.insert({thread.fair, id});
}

void Schedule::Fill() {
  while (!free_.empty() && !ready_.empty()) {
    const Id id = ready_.begin()->second;
    ready_.erase(ready_.begin());
    const auto longest = std::min_element(free_.begin(), free_.end());
    Thread& thread = threads_[id];
    thread.state = kOnProcessor;
    thread.now = std::max(thread.now, *longest) + processors_.switch_cost;
    thread.on_processor = 0;
    free_.erase(longest);
    running_.push_back(id);
  }
}

void Schedule::UpdateLeastFair() {
  SimTime least = kNoDeadline;
  if (!ready_.empty()) least = ready_.begin()->first;
  for (const Id id : running_) least = std::min(least, threads_[id].fair);
  if (least != kNoDeadline) least_fair_ = std::max(least_fair_, least);
}

void Schedule::LeaveProcessor(Id id) {
  UpdateLeastFair();
  running_.erase(std::find(running_.begin(), running_.end(), id));
  free_.push_back(threads_[id].now);
}

Schedule::Id Schedule::EarliestRunning() const {
  Id earliest = kNobody;
  for (const Id id : running_) {
    if (earliest == kNobody ||
        before_({threads_[id].now, id}, {threads_[earliest].now, earliest})) {
      earliest = id;
    }
  }
  return earliest;
}

bool Schedule::Preempted(const Thread& running) const {
  if (ready_.empty()) return false;
  const Thread& first = threads_[ready_.begin()->second];
  if (first.now > running.now) return false;
  const SimTime more = running.fair - first.fair;
  return more > processors_.wake_up_granularity ||
         (more > 0 && running.on_processor >= processors_.slice);
}

std::string Schedule::WhoWaits() const {
  std::string text;
  for (const Thread& thread : threads_) {
    if (thread.state != kWaiting) continue;
    text +=
        (text.empty() ? "" : ", ") + thread.name + " for " + thread.waits_for;
  }
  return text;
}

}  // namespace recompact
