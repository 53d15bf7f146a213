#ifndef RECOMPACT_WORKLOADS_SIMULATOR_SIMULATION_H_
#define RECOMPACT_WORKLOADS_SIMULATOR_SIMULATION_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/schedule.h"
#include "simulator/work.h"

namespace recompact {

// While it lives, the thread that made it and all that those start run in
// simulated time on a simulated host.  They are real threads of which one runs
// at a time, the one that the schedule names, and so is the order of all that
// they do to each other.  What they compute takes the time that the host's
// costs give the work that is counted (work.h), and nothing else does.
//
// interpose.cc leads the calls of such a thread to the system's threads, locks,
// clocks and sleeps here, whoever makes them; other threads keep the system's.
//
// A simulation in which nobody can go on, or in which somebody goes on for
// "patience_s" real seconds without a call that is led here, ends the process
// with a message that names the threads, and kStuckStatus.
class Simulation {
 public:
  static constexpr int kStuckStatus = 70;

  struct Host {
    Processors processors;
    // A thread may get ahead of the others by so much, except where it does
    // something to them.
    SimTime quantum = 20'000'000;
    // Of one of each kind of work, by role.
    std::array<std::array<SimTime, kWorkKinds>, kRoles> costs{};
    int patience_s = 60;
  };

  explicit Simulation(const Host& host);
  // REQUIRES: the calling thread made it; the others have ended
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Where the calling thread lives; nullptr: in real time.
  // The thread sanitizer asks, too, before it can be told of it.
  [[gnu::no_sanitize_thread]] static Simulation* OfThisThread();

  // The calling thread's time and what it has computed.
  SimTime Now();
  SimTime Computed();
  SimTime ComputedByAll() const;
  int processor_count() const { return host_.processors.count; }

  // Lets those go first whose time is earlier, after the calling thread has
  // computed for so long beside the work that it has counted.
  void GiveWay(SimTime computed = 0);
  // The same, at a place where threads do nothing to each other: only after a
  // quantum of computing.
  void Pass();
  void SleepUntil(SimTime time);

  // Waits until somebody wakes those who wait at "place", or for a deadline;
  // whether it was not the deadline.  "what" is for messages.
  bool WaitAt(const void* place, const char* what,
              SimTime deadline = kNoDeadline);
  bool WakeOne(const void* place);  // Whether anybody waited
  void WakeAll(const void* place);

  // Of all switches from thread to thread so far, with their times: equal if
  // two simulations went the same way.
  uint64_t schedule_hash() const { return schedule_hash_; }
  uint64_t switches() const { return switches_; }

  // What pthread_create() and pthread_join() are made of.  Whether the system
  // has a stack at hand for a thread, and when it is done with another's, hangs
  // on real time: what it does there counts for nothing.
  struct Thread;
  // The system's error from "start", which starts the real thread.
  int StartThread(const std::function<int(Thread*)>& start);
  void Begin(Thread* thread);  // In the new thread; waits for its turn
  void EndThisThread();
  // After "join" has waited for the real thread: the system's error.
  int WaitForEnd(Thread* thread, const std::function<int()>& join);
  void SetNameOfThisThread(const std::string& name);
  [[gnu::no_sanitize_thread]] static Thread* ThisThread();
  // From 1 on, in the order in which threads were started.
  [[gnu::no_sanitize_thread]] static uint64_t NumberOf(const Thread* thread);

  // In place of what is random on a real host.
  uint64_t Draw();

 private:
  class Watch;
  class Inside;

  // Charges the calling thread for the work that it has counted.
  void Settle(SimTime computed = 0);
  void SwitchFrom(Thread* self, bool ends);
  [[noreturn]] void Stop(const std::string& why);

  const Host host_;
  Schedule schedule_;
  std::vector<std::unique_ptr<Thread>> threads_;  // By the schedule's number
  std::unordered_map<const void*, std::deque<Schedule::Id>> waiting_;
  uint64_t schedule_hash_ = 14695981039346656037u;
  uint64_t switches_ = 0;
  uint64_t drawn_ = 0;
  std::atomic<Schedule::Id> whose_turn_{0};
  std::atomic<uint64_t> calls_{0};  // That were led here
  std::unique_ptr<Watch> watch_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_SIMULATOR_SIMULATION_H_
