#ifndef RECOMPACT_WORKLOADS_SIMULATOR_SCHEDULE_H_
#define RECOMPACT_WORKLOADS_SIMULATOR_SCHEDULE_H_

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace recompact {

// Picoseconds since the simulation began; its range is 106 days.
using SimTime = int64_t;
constexpr SimTime kPicosPerNano = 1000;
constexpr SimTime kNoDeadline = std::numeric_limits<SimTime>::max();

// How a simulated host gives processors to threads, all in picoseconds.
struct Processors {
  int count = 1;
  // Linux's completely fair scheduler: the one that has had the least goes
  // next, when the running one has had a slice; one that wakes up goes at once
  // if the running one has had so much more.
  SimTime slice = 3'000'000'000;
  SimTime wake_up_granularity = 1'000'000'000;
  SimTime switch_cost = 0;      // Of a processor that takes another thread
  SimTime wake_cost = 0;        // From a wake-up to the first instruction
  bool ties_to_higher = false;  // Of equals the one with the higher number goes
};

// When which simulated thread goes on: a discrete-event simulation of a host's
// processors.  A pure function of its calls: no clock, no real thread.
//
// Every thread on a processor has a time of its own, up to which it has done
// its work.  The earliest goes on; ties go to the lower number, unless the host
// says otherwise.  So whatever threads do to each other happens in the order of
// simulated time.
class Schedule {
 public:
  using Id = int;
  static constexpr Id kNobody = -1;

  explicit Schedule(const Processors& processors);

  // A thread that may run from "time" on.
  Id Add(const std::string& name, SimTime time);

  // The thread "id", which is on a processor, has computed for so long.
  void Charge(Id id, SimTime duration);

  // It waits for Wake(), or for its time to be "deadline".
  void Block(Id id, const std::string& what, SimTime deadline = kNoDeadline);
  // It may go on from "time" on.
  // REQUIRES: it waits
  void Wake(Id id, SimTime time);
  void End(Id id);

  // Who goes on now; it is on a processor.  kNobody if all wait for each other
  // or have ended.
  Id Next();

  SimTime now(Id id) const { return threads_[id].now; }
  // Whether its deadline woke it up, the last time that it waited.
  bool timed_out(Id id) const { return threads_[id].timed_out; }
  SimTime computed(Id id) const { return threads_[id].computed; }
  const std::string& name(Id id) const { return threads_[id].name; }
  void SetName(Id id, const std::string& name) { threads_[id].name = name; }
  // "client 1 waits for a mutex, timeline ..." of all that have not ended.
  std::string WhoWaits() const;

 private:
  enum State { kOnProcessor, kReady, kWaiting, kEnded };
  struct Thread {
    std::string name;
    State state = kWaiting;
    SimTime now = 0;
    SimTime computed = 0;
    SimTime fair = 0;          // What it has had, as fairness counts it
    SimTime on_processor = 0;  // Since it got the processor
    SimTime deadline = kNoDeadline;
    std::string waits_for;
    bool timed_out = false;
  };
  // Those of equal time in the order in which they go.
  struct Before {
    bool ties_to_higher;
    bool operator()(const std::pair<SimTime, Id>& a,
                    const std::pair<SimTime, Id>& b) const {
      if (a.first != b.first) return a.first < b.first;
      return ties_to_higher ? a.second > b.second : a.second < b.second;
    }
  };
  using Queue = std::set<std::pair<SimTime, Id>, Before>;

  void MakeReady(Id id, SimTime time);
  // Gives free processors to those that are ready.
  void Fill();
  void LeaveProcessor(Id id);
  Id EarliestRunning() const;  // kNobody if nobody is
  // The least that anybody who can run has had; never falls.
  void UpdateLeastFair();
  bool Preempted(const Thread& running) const;

  const Processors processors_;
  const Before before_;
  std::vector<Thread> threads_;
  std::vector<Id> running_;    // On processors
  Queue ready_;                // By fairness
  Queue deadlines_;            // Of those that wait
  std::vector<SimTime> free_;  // Since when each free processor is
  SimTime least_fair_ = 0;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_SIMULATOR_SCHEDULE_H_
