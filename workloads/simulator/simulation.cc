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

// What a thread did before it was simulated took no simulated time.
std::array<uint64_t, kWorkKinds> CountsOfThisThread() {
  std::array<uint64_t, kWorkKinds> copy;
  const auto& counts = work_of_this_thread.counts.of;
  std::copy(counts.begin(), counts.end(), copy.begin());
  return copy;
}

}  // namespace

struct Simulation::Thread {
  explicit Thread(Simulation* s) : simulation(s) {}

  Simulation* const simulation;
  Schedule::Id id = Schedule::kNobody;
  bool ended = false;
  SimTime gave_way = 0;                        // When it last did
  std::array<uint64_t, kWorkKinds> settled{};  // Work that was charged
  std::atomic<uint32_t> turn{0};

  void WaitForTurn() {
    while (turn.exchange(0) == 0) Futex(&turn, FUTEX_WAIT, 0);
  }
  void GetTurn() {
    turn.store(1);
    Futex(&turn, FUTEX_WAKE, 1);
  }
};

// What the calling thread does while one lives is the simulator's work, and
// counts for nothing.
class Simulation::Inside {
 public:
  explicit Inside(Simulation* simulation, SimTime computed = 0) {
    simulation->Settle(computed);
  }
  ~Inside() {
    auto& counts = work_of_this_thread.counts.of;
    for (int i = 0; i < kWorkKinds; i++) {
      counts[i].store(this_thread->settled[i], std::memory_order_relaxed);
    }
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
  threads_.push_back(std::make_unique<Thread>(this));
  this_thread = threads_.back().get();
  this_thread->id = schedule_.Add("main", 0);
  schedule_.Next();
  this_thread->settled = CountsOfThisThread();
}

Simulation::~Simulation() {
  watch_.reset();
  this_thread = nullptr;
}

Simulation* Simulation::OfThisThread() {
  return this_thread == nullptr ? nullptr : this_thread->simulation;
}

Simulation::Thread* Simulation::ThisThread() { return this_thread; }

uint64_t Simulation::NumberOf(const Thread* thread) { return thread->id + 1; }

uint64_t Simulation::Draw() {
  drawn_ = (drawn_ + 1) * kHashPrime;
  return drawn_ ^ (drawn_ >> 29);
}

SimTime Simulation::Now() {
  Settle();
  return schedule_.now(this_thread->id);
}

SimTime Simulation::Computed() {
  Settle();
  return schedule_.computed(this_thread->id);
}

SimTime Simulation::ComputedByAll() const {
  SimTime sum = 0;
  for (const auto& thread : threads_) sum += schedule_.computed(thread->id);
  return sum;
}

void Simulation::Settle(SimTime computed) {
  const ThreadWork& work = work_of_this_thread;
  const auto& costs = host_.costs[static_cast<int>(work.role)];
  SimTime cost = computed;
  for (int i = 0; i < kWorkKinds; i++) {
    const uint64_t count = work.counts.of[i].load(std::memory_order_relaxed);
    cost += costs[i] * static_cast<SimTime>(count - this_thread->settled[i]);
    this_thread->settled[i] = count;
  }
  if (cost > 0) schedule_.Charge(this_thread->id, cost);
}

void Simulation::GiveWay(SimTime computed) {
  const Inside inside(this, computed);
  SwitchFrom(this_thread, /*ends=*/false);
  this_thread->gave_way = schedule_.now(this_thread->id);
}

void Simulation::Pass() {
  if (Now() >= this_thread->gave_way + host_.quantum) GiveWay();
}

void Simulation::SleepUntil(SimTime time) {
  const Inside inside(this);
  const Schedule::Id id = this_thread->id;
  if (time > schedule_.now(id)) schedule_.Block(id, "time", time);
  SwitchFrom(this_thread, /*ends=*/false);
}

bool Simulation::WaitAt(const void* place, const char* what, SimTime deadline) {
  const Inside inside(this);
  const Schedule::Id id = this_thread->id;
  waiting_[place].push_back(id);
  schedule_.Block(id, what, deadline);
  SwitchFrom(this_thread, /*ends=*/false);
  if (!schedule_.timed_out(id)) return true;
  std::deque<Schedule::Id>& others = waiting_[place];
  others.erase(std::find(others.begin(), others.end(), id));
  if (others.empty()) waiting_.erase(place);
  return false;
}

bool Simulation::WakeOne(const void* place) {
  const Inside inside(this);
  const auto waiting = waiting_.find(place);
  if (waiting == waiting_.end()) return false;
  // Those whose time has come have yet to leave the place.
  std::deque<Schedule::Id>& ids = waiting->second;
  const auto first = std::find_if(
      ids.begin(), ids.end(),
      [this](Schedule::Id id) { return !schedule_.timed_out(id); });
  if (first == ids.end()) return false;
  schedule_.Wake(*first, schedule_.now(this_thread->id));
  ids.erase(first);
  if (ids.empty()) waiting_.erase(waiting);
  return true;
}

void Simulation::WakeAll(const void* place) {
  while (WakeOne(place)) {
  }
}

int Simulation::StartThread(const std::function<int(Thread*)>& start) {
  const Inside inside(this);
  auto thread = std::make_unique<Thread>(this);
  const int error = start(thread.get());
  if (error != 0) return error;
  thread->id = schedule_.Add("thread " + std::to_string(threads_.size()),
                             schedule_.now(this_thread->id));
  threads_.push_back(std::move(thread));
  return 0;
}

void Simulation::Begin(Thread* thread) {
  thread->WaitForTurn();
  this_thread = thread;
  thread->settled = CountsOfThisThread();
}

void Simulation::EndThisThread() {
  Thread* const self = this_thread;
  self->ended = true;
  WakeAll(self);
  schedule_.End(self->id);
  this_thread = nullptr;
  SwitchFrom(self, /*ends=*/true);
}

int Simulation::WaitForEnd(Thread* thread, const std::function<int()>& join) {
  while (!thread->ended) WaitAt(thread, "the end of a thread");
  const Inside inside(this);
  return join();
}

void Simulation::SetNameOfThisThread(const std::string& name) {
  const Inside inside(this);
  schedule_.SetName(this_thread->id, name);
}

void Simulation::SwitchFrom(Thread* self, bool ends) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  const Schedule::Id id = schedule_.Next();
  if (id == Schedule::kNobody) {
    if (ends) return;  // Cannot be: who made the simulation is there
    Stop("nobody can go on: " + schedule_.WhoWaits());
  }
  if (id == self->id) return;
  switches_++;
  for (const uint64_t part :
       {static_cast<uint64_t>(id), static_cast<uint64_t>(schedule_.now(id))}) {
    schedule_hash_ = (schedule_hash_ ^ part) * kHashPrime;
  }
  whose_turn_ = id;
  threads_[id]->GetTurn();
  if (!ends) self->WaitForTurn();
}

void Simulation::Stop(const std::string& why) {
  std::fprintf(stderr, "simulation: %s\n", why.c_str());
  ::_exit(kStuckStatus);
}

}  // namespace recompact
