#include "simulator/work.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace recompact {

namespace {

constexpr int64_t kNsPerSecond = 1000 * 1000 * 1000;

// Real time, also of a simulated thread.
int64_t ProcessorNs(clockid_t clock) {
  timespec time = {0, 0};
  ::syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

struct Living {
  const ThreadWork* work;
  clockid_t clock;
};

struct Accounts {
  std::atomic_flag taken = ATOMIC_FLAG_INIT;
  std::vector<Living> living;
  std::array<RoleWork, kRoles> ended;
};

// A lock that is not led anywhere: it is held for some instructions.
class AccountsLock {
 public:
  AccountsLock() {
    while (accounts_.taken.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~AccountsLock() { accounts_.taken.clear(std::memory_order_release); }
  Accounts* operator->() { return &accounts_; }

 private:
  static Accounts& Get();
  Accounts& accounts_ = Get();
};

Living LivingSelf() {
  Living self = {&work_of_this_thread, 0};
  ::pthread_getcpuclockid(::pthread_self(), &self.clock);
  return self;
}

// Never destroyed: threads end when the process does.
Accounts* const all_accounts = [] {
  auto* const accounts = new Accounts;
  accounts->living.push_back(LivingSelf());
  return accounts;
}();

Accounts& AccountsLock::Get() { return *all_accounts; }

void AddTo(RoleWork* sum, const WorkCounts& counts, int64_t processor_ns) {
  for (int i = 0; i < kWorkKinds; i++) {
    sum->counts[i] += counts.of[i].load(std::memory_order_relaxed);
  }
  sum->processor_ns += processor_ns;
}

}  // namespace

void BeginWorkOfThisThread() { AccountsLock()->living.push_back(LivingSelf()); }

void EndWorkOfThisThread() {
  AccountsLock accounts;
  auto& living = accounts->living;
  living.erase(std::find_if(living.begin(), living.end(), [](const Living& l) {
    return l.work == &work_of_this_thread;
  }));
  AddTo(&accounts->ended[static_cast<int>(work_of_this_thread.role)],
        work_of_this_thread.counts, ProcessorNs(CLOCK_THREAD_CPUTIME_ID));
}

std::array<RoleWork, kRoles> WorkSoFar() {
  AccountsLock accounts;
  std::array<RoleWork, kRoles> sum = accounts->ended;
  for (const Living& thread : accounts->living) {
    AddTo(&sum[static_cast<int>(thread.work->role)], thread.work->counts,
          ProcessorNs(thread.clock));
  }
  return sum;
}

RoleWork Difference(const RoleWork& earlier, const RoleWork& later) {
  RoleWork difference = later;
  for (int i = 0; i < kWorkKinds; i++) {
    difference.counts[i] -= earlier.counts[i];
  }
  difference.processor_ns -= earlier.processor_ns;
  return difference;
}

}  // namespace recompact
