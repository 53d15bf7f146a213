// The system's calls that make threads, let them wait and tell them the time,
// under their own names: an executable that links this (with -rdynamic, for its
// shared libraries) has every call of its code and of all libraries led here.
// Threads of a Simulation get their answer from it, all others from the system.
//
// Of locks the system's own state is kept: a simulated thread tries to take
// one, and waits in simulated time where it cannot.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include "simulator/simulation.h"

namespace recompact {
namespace {

constexpr int64_t kNsPerSecond = 1000 * 1000 * 1000;
// A simulation begins at a date that all have in common.
constexpr int64_t kBeginningSeconds = 1'700'000'000;

// The system's function of that name, found at its first use.  No static of a
// function: those take a guard, which is led here too.
template <typename Result, typename... Arguments>
class System {
 public:
  using Function = Result (*)(Arguments...);

  // "like" is only there for its type.
  constexpr System(Function /*like*/, const char* name,
                   const char* version = nullptr)
      : name_(name), version_(version) {}
  Result operator()(Arguments... arguments) {
    if (function_ == nullptr) {
      void* found =
          version_ == nullptr ? nullptr : ::dlvsym(RTLD_NEXT, name_, version_);
      if (found == nullptr) found = ::dlsym(RTLD_NEXT, name_);
      if (found == nullptr) std::abort();
      function_ = reinterpret_cast<Function>(found);
    }
    return function_(arguments...);
  }

 private:
  const char* const name_;
  const char* const version_;
  Function function_ = nullptr;
};

// The first of their kind had another layout.
#if defined(__x86_64__)
constexpr char kCondition[] = "GLIBC_2.3.2";
#else
constexpr char kCondition[] = "GLIBC_2.17";
#endif

#define RECOMPACT_SYSTEM(name, ...) \
  System system_##name(&::name, #name, ##__VA_ARGS__)

RECOMPACT_SYSTEM(pthread_create);
RECOMPACT_SYSTEM(pthread_join);
RECOMPACT_SYSTEM(pthread_setname_np);
RECOMPACT_SYSTEM(pthread_once);
RECOMPACT_SYSTEM(pthread_mutex_lock);
RECOMPACT_SYSTEM(pthread_mutex_trylock);
RECOMPACT_SYSTEM(pthread_mutex_unlock);
RECOMPACT_SYSTEM(pthread_rwlock_rdlock);
RECOMPACT_SYSTEM(pthread_rwlock_wrlock);
RECOMPACT_SYSTEM(pthread_rwlock_tryrdlock);
RECOMPACT_SYSTEM(pthread_rwlock_trywrlock);
RECOMPACT_SYSTEM(pthread_rwlock_unlock);
RECOMPACT_SYSTEM(pthread_cond_wait, kCondition);
RECOMPACT_SYSTEM(pthread_cond_timedwait, kCondition);
RECOMPACT_SYSTEM(pthread_cond_clockwait);
RECOMPACT_SYSTEM(pthread_cond_signal, kCondition);
RECOMPACT_SYSTEM(pthread_cond_broadcast, kCondition);
RECOMPACT_SYSTEM(clock_gettime);
RECOMPACT_SYSTEM(gettimeofday);
RECOMPACT_SYSTEM(time);
RECOMPACT_SYSTEM(clock_nanosleep);
RECOMPACT_SYSTEM(nanosleep);
RECOMPACT_SYSTEM(usleep);
RECOMPACT_SYSTEM(sched_yield);
RECOMPACT_SYSTEM(sched_getcpu);
RECOMPACT_SYSTEM(sysconf);
System system_guard_acquire(static_cast<int (*)(int64_t*)>(nullptr),
                            "__cxa_guard_acquire");
System system_guard_release(static_cast<void (*)(int64_t*)>(nullptr),
                            "__cxa_guard_release");
System system_guard_abort(static_cast<void (*)(int64_t*)>(nullptr),
                          "__cxa_guard_abort");

Simulation* Here() { return Simulation::OfThisThread(); }

// What a clock showed when the simulation began.
int64_t BeginningNs(clockid_t clock) {
  const bool is_date =
      clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  return is_date ? kBeginningSeconds * kNsPerSecond : 0;
}

int64_t ToNs(const timespec& time) {
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

// The simulated time at which a clock shows "time".
SimTime WhenShows(clockid_t clock, const timespec& time) {
  constexpr int64_t kMostSeconds = kNoDeadline / kPicosPerNano / kNsPerSecond;
  if (time.tv_sec - BeginningNs(clock) / kNsPerSecond >= kMostSeconds) {
    return kNoDeadline;
  }
  return (ToNs(time) - BeginningNs(clock)) * kPicosPerNano;
}

int64_t LookNs(Simulation* simulation, clockid_t clock) {
  simulation->Charge(simulation->host().clock_cost);
  simulation->GiveWay();
  return clock == CLOCK_THREAD_CPUTIME_ID
             ? simulation->Computed() / kPicosPerNano
             : BeginningNs(clock) + simulation->Now() / kPicosPerNano;
}

template <typename Lock, typename Try>
int TakeLock(Simulation* simulation, Lock* lock, Try try_lock,
             const char* what) {
  simulation->GiveWay();
  int result;
  while ((result = try_lock(lock)) == EBUSY) simulation->WaitAt(lock, what);
  return result;
}

int WaitForCondition(Simulation* simulation, pthread_cond_t* condition,
                     pthread_mutex_t* mutex, SimTime deadline) {
  ::pthread_mutex_unlock(mutex);
  const bool woken = simulation->WaitAt(condition, "a condition", deadline);
  ::pthread_mutex_lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

// A thread's last turn ends when the destructors of its thread_local objects
// and of its other keys are done: this key's is called again in each round of
// those, and acts in the last.
struct Start {
  Simulation* simulation;
  Simulation::Thread* thread;
  void* (*function)(void*);
  void* argument;
  int rounds = PTHREAD_DESTRUCTOR_ITERATIONS;
};
pthread_key_t end_key;
pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

void EndRound(void* value) {
  Start* const start = static_cast<Start*>(value);
  if (--start->rounds > 0) {
    ::pthread_setspecific(end_key, start);
    return;
  }
  Simulation* const simulation = start->simulation;
  delete start;
  simulation->EndThisThread();
}

void* RunThread(void* value) {
  Start* const start = static_cast<Start*>(value);
  start->simulation->Begin(start->thread);
  ::pthread_setspecific(end_key, start);
  return start->function(start->argument);
}

// Simulated threads that may be joined.
std::unordered_map<pthread_t, Simulation::Thread*> threads;
// What is being initialised once, by a simulated thread.
std::unordered_set<const void*> initialising;

void WaitUntilInitialised(Simulation* simulation, const void* place) {
  simulation->GiveWay();
  while (initialising.count(place) > 0) {
    simulation->WaitAt(place, "an initialisation");
  }
}

void Initialised(Simulation* simulation, const void* place) {
  if (simulation == nullptr) return;
  initialising.erase(place);
  simulation->WakeAll(place);
}

}  // namespace
}  // namespace recompact

using namespace recompact;  // NOLINT: what follows has the system's names

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*function)(void*), void* argument) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) {
    return system_pthread_create(thread, attributes, function, argument);
  }
  system_pthread_once(
      &end_key_once, +[] { ::pthread_key_create(&end_key, EndRound); });
  auto* const start =
      new Start{simulation, simulation->NewThread(), function, argument};
  const int error = system_pthread_create(thread, attributes, RunThread, start);
  if (error != 0) {
    delete start;
    return error;
  }
  threads[*thread] = start->thread;
  simulation->Admit(start->thread);
  simulation->GiveWay();
  return 0;
}

int pthread_join(pthread_t thread, void** result) {
  Simulation* const simulation = Here();
  if (simulation != nullptr) {
    const auto joined = threads.find(thread);
    if (joined != threads.end()) {
      simulation->WaitForEnd(joined->second);
      threads.erase(joined);
    }
  }
  return system_pthread_join(thread, result);
}

int pthread_setname_np(pthread_t thread, const char* name) {
  Simulation* const simulation = Here();
  if (simulation != nullptr && ::pthread_equal(thread, ::pthread_self())) {
    simulation->SetNameOfThisThread(name);
  }
  return system_pthread_setname_np(thread, name);
}

int pthread_once(pthread_once_t* once, void (*function)()) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_once(once, function);
  WaitUntilInitialised(simulation, once);
  initialising.insert(once);
  const int result = system_pthread_once(once, function);
  Initialised(simulation, once);
  return result;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_mutex_lock(mutex);
  return TakeLock(simulation, mutex, system_pthread_mutex_trylock, "a mutex");
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Simulation* const simulation = Here();
  if (simulation != nullptr) {
    simulation->Charge(simulation->host().clock_cost);  // Who spins goes on
    simulation->GiveWay();
  }
  return system_pthread_mutex_trylock(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  const int result = system_pthread_mutex_unlock(mutex);
  Simulation* const simulation = Here();
  if (simulation != nullptr) simulation->WakeOne(mutex);
  return result;
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_rwlock_rdlock(lock);
  return TakeLock(simulation, lock, system_pthread_rwlock_tryrdlock,
                  "a read lock");
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_rwlock_wrlock(lock);
  return TakeLock(simulation, lock, system_pthread_rwlock_trywrlock,
                  "a write lock");
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  const int result = system_pthread_rwlock_unlock(lock);
  Simulation* const simulation = Here();
  if (simulation != nullptr) simulation->WakeAll(lock);
  return result;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_cond_wait(condition, mutex);
  return WaitForCondition(simulation, condition, mutex, kNoDeadline);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           clockid_t clock, const timespec* deadline) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) {
    return system_pthread_cond_clockwait(condition, mutex, clock, deadline);
  }
  return WaitForCondition(simulation, condition, mutex,
                          WhenShows(clock, *deadline));
}

// Of a condition whose clock was not set: the date.
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* deadline) {
  if (Here() == nullptr) {
    return system_pthread_cond_timedwait(condition, mutex, deadline);
  }
  return ::pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, deadline);
}

int pthread_cond_signal(pthread_cond_t* condition) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_cond_signal(condition);
  simulation->GiveWay();
  simulation->WakeOne(condition);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_cond_broadcast(condition);
  simulation->GiveWay();
  simulation->WakeAll(condition);
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_clock_gettime(clock, time);
  const int64_t ns = LookNs(simulation, clock);
  *time = {ns / kNsPerSecond, ns % kNsPerSecond};
  return 0;
}

int gettimeofday(timeval* time, void* zone) {
  if (Here() == nullptr) return system_gettimeofday(time, zone);
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* result) {
  if (Here() == nullptr) return system_time(result);
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                    timespec* left) {
  Simulation* const simulation = Here();
  if (simulation == nullptr) {
    return system_clock_nanosleep(clock, flags, time, left);
  }
  simulation->SleepUntil((flags & TIMER_ABSTIME) != 0
                             ? WhenShows(clock, *time)
                             : simulation->Now() + ToNs(*time) * kPicosPerNano);
  return 0;
}

int nanosleep(const timespec* time, timespec* left) {
  if (Here() == nullptr) return system_nanosleep(time, left);
  return ::clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

int usleep(useconds_t micros) {
  if (Here() == nullptr) return system_usleep(micros);
  const timespec time = {micros / 1'000'000, micros % 1'000'000 * 1000};
  return ::nanosleep(&time, nullptr);
}

int sched_yield() {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_sched_yield();
  simulation->Charge(simulation->host().yield_cost);
  simulation->GiveWay();
  return 0;
}

int sched_getcpu() { return Here() == nullptr ? system_sched_getcpu() : 0; }

long sysconf(int name) {  // NOLINT(runtime/int): the system's
  Simulation* const simulation = Here();
  const bool processors =
      name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF;
  return simulation != nullptr && processors ? simulation->processor_count()
                                             : system_sysconf(name);
}

// What the compiler calls around the initialisation of a static of a function.
int __cxa_guard_acquire(int64_t* guard) {
  Simulation* const simulation = Here();
  if (simulation != nullptr) WaitUntilInitialised(simulation, guard);
  const int taken = system_guard_acquire(guard);
  if (simulation != nullptr && taken != 0) initialising.insert(guard);
  return taken;
}

void __cxa_guard_release(int64_t* guard) {
  system_guard_release(guard);
  Initialised(Here(), guard);
}

void __cxa_guard_abort(int64_t* guard) {
  system_guard_abort(guard);
  Initialised(Here(), guard);
}

}  // extern "C"
