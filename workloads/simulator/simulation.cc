#include "simulator/simulation.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

namespace recompact {

namespace {

constexpr uint64_t kHashPrime = 1099511628211u;

thread_local Simulation::Thread* this_thread = nullptr;

// The system's own, which nothing leads elsewhere.
long Futex(std::atomic<uint32_t>* word, int operation, uint32_t value) {
  return ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(word),
                   operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

}  // namespace

struct Simulation::Thread {
  Simulation* simulation;
  Schedule::Id id;
  bool ended = false;
  SimTime since_way = 0;  // Computed since it last gave way
  std::atomic<uint32_t> turn{0};

  void WaitForTurn() {
    while (turn.exchange(0) == 0) Futex(&turn, FUTEX_WAIT, 0);
  }
  void GetTurn() {
    turn.store(1);
    Futex(&turn, FUTEX_WAKE, 1);
  }
};

// Stops a simulation that stands still; a real thread.
class Simulation::Watch {
 public:
  explicit Watch(Simulation* simulation)
      : thread_([this, simulation] { Run(simulation); }) {}
  ~Watch() {
    done_.store(1);
    Futex(&done_, FUTEX_WAKE, 1);
    thread_.join();
  }

 private:
  void Run(Simulation* simulation) {
    uint64_t calls = 0;
    int standing_s = 0;
    while (done_.load() == 0) {
      timespec second = {1, 0};
      ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&done_),
                FUTEX_WAIT_PRIVATE, 0, &second, nullptr, 0);
      const uint64_t now = simulation->calls_.load();
      standing_s = now == calls ? standing_s + 1 : 0;
      calls = now;
      if (standing_s < simulation->host_.patience_s) continue;
      simulation->Stop(
          simulation->schedule_.name(simulation->whose_turn_) +
          " has computed for " + std::to_string(standing_s) +
          " real seconds without a call that takes simulated time");
    }
  }

  std::atomic<uint32_t> done_{0};
  std::thread thread_;
};

Simulation::Simulation(const Host& host)
    : host_(host),
      schedule_(host.processors),
      watch_(std::make_unique<Watch>(this)) {
  Thread* const first = NewThread();
  Admit(first);
  schedule_.SetName(first->id, "main");
  schedule_.Next();
  this_thread = first;
}

Simulation::~Simulation() {
  watch_.reset();
  this_thread = nullptr;
}

Simulation* Simulation::OfThisThread() {
  return this_thread == nullptr ? nullptr : this_thread->simulation;
}

Simulation::Thread* Simulation::ThisThread() { return this_thread; }

SimTime Simulation::Now() const { return schedule_.now(this_thread->id); }

SimTime Simulation::Computed() const {
  return schedule_.computed(this_thread->id);
}

void Simulation::Charge(SimTime duration) {
  Thread* const self = this_thread;
  schedule_.Charge(self->id, duration);
  self->since_way += duration;
  if (self->since_way >= host_.quantum) GiveWay();
}

void Simulation::GiveWay() {
  calls_.fetch_add(1, std::memory_order_relaxed);
  this_thread->since_way = 0;
  SwitchFrom(this_thread, /*ends=*/false);
}

void Simulation::SleepUntil(SimTime time) {
  if (time > Now()) schedule_.Block(this_thread->id, "time", time);
  GiveWay();
}

bool Simulation::WaitAt(const void* place, const char* what, SimTime deadline) {
  const Schedule::Id id = this_thread->id;
  waiting_[place].push_back(id);
  schedule_.Block(id, what, deadline);
  GiveWay();
  if (!schedule_.timed_out(id)) return true;
  std::deque<Schedule::Id>& others = waiting_[place];
  others.erase(std::find(others.begin(), others.end(), id));
  if (others.empty()) waiting_.erase(place);
  return false;
}

bool Simulation::WakeOne(const void* place) {
  const auto waiting = waiting_.find(place);
  if (waiting == waiting_.end()) return false;
  // Those whose time has come have yet to leave the place.
  std::deque<Schedule::Id>& ids = waiting->second;
  const auto first = std::find_if(
      ids.begin(), ids.end(),
      [this](Schedule::Id id) { return !schedule_.timed_out(id); });
  if (first == ids.end()) return false;
  schedule_.Wake(*first, Now());
  ids.erase(first);
  if (ids.empty()) waiting_.erase(waiting);
  return true;
}

void Simulation::WakeAll(const void* place) {
  while (WakeOne(place)) {
  }
}

Simulation::Thread* Simulation::NewThread() {
  threads_.push_back(std::make_unique<Thread>());
  threads_.back()->simulation = this;
  threads_.back()->id = Schedule::kNobody;
  return threads_.back().get();
}

void Simulation::Admit(Thread* thread) {
  thread->id = schedule_.Add("thread " + std::to_string(by_id_.size()),
                             this_thread == nullptr ? 0 : Now());
  by_id_.push_back(thread);
}

void Simulation::Begin(Thread* thread) {
  thread->WaitForTurn();
  this_thread = thread;
}

void Simulation::EndThisThread() {
  Thread* const self = this_thread;
  self->ended = true;
  WakeAll(self);
  schedule_.End(self->id);
  this_thread = nullptr;
  SwitchFrom(self, /*ends=*/true);
}

void Simulation::WaitForEnd(Thread* thread) {
  while (!thread->ended) WaitAt(thread, "the end of a thread");
}

void Simulation::SetNameOfThisThread(const std::string& name) {
  schedule_.SetName(this_thread->id, name);
}

void Simulation::SwitchFrom(Thread* self, bool ends) {
  const Schedule::Id id = schedule_.Next();
  if (id == Schedule::kNobody) {
    if (ends) return;  // Cannot be: who made the simulation is there
    Stop("nobody can go on: " + schedule_.WhoWaits());
  }
  if (id == self->id) return;
  for (const uint64_t part :
       {static_cast<uint64_t>(id), static_cast<uint64_t>(schedule_.now(id))}) {
    schedule_hash_ = (schedule_hash_ ^ part) * kHashPrime;
  }
  whose_turn_ = id;
  by_id_[id]->GetTurn();
  if (!ends) self->WaitForTurn();
}

void Simulation::Stop(const std::string& why) {
  std::fprintf(stderr, "simulation: %s\n", why.c_str());
  ::_exit(kStuckStatus);
}

}  // namespace recompact
