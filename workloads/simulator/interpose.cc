// The system's calls that make threads, let them wait and tell them the time,
// and others whose work is counted, under their own names: an executable that
// links this (with -rdynamic, for its shared libraries) has every call of its
// code and of all libraries led here.  Threads of a Simulation get their answer
// from it, all others from the system.
//
// Of locks the system's own state is kept: a simulated thread tries to take
// one, and waits in simulated time where it cannot.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <snappy.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "simulator/simulation.h"

namespace recompact {
namespace {

constexpr int64_t kNsPerSecond = 1000 * 1000 * 1000;
// Who spins gets on, whatever that costs.
constexpr SimTime kSpin = kPicosPerNano;
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
RECOMPACT_SYSTEM(pthread_self);
RECOMPACT_SYSTEM(pthread_join);
RECOMPACT_SYSTEM(pthread_detach);
RECOMPACT_SYSTEM(pthread_getcpuclockid);
RECOMPACT_SYSTEM(pthread_getattr_np);
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
RECOMPACT_SYSTEM(getrusage);
RECOMPACT_SYSTEM(clock_nanosleep);
RECOMPACT_SYSTEM(nanosleep);
RECOMPACT_SYSTEM(usleep);
RECOMPACT_SYSTEM(sched_yield);
RECOMPACT_SYSTEM(sched_getcpu);
RECOMPACT_SYSTEM(sysconf);
RECOMPACT_SYSTEM(read);
RECOMPACT_SYSTEM(pread);
RECOMPACT_SYSTEM(write);
RECOMPACT_SYSTEM(pwrite);
RECOMPACT_SYSTEM(close);
RECOMPACT_SYSTEM(unlink);
RECOMPACT_SYSTEM(rename);
RECOMPACT_SYSTEM(fsync);
RECOMPACT_SYSTEM(fdatasync);
RECOMPACT_SYSTEM(readdir);
RECOMPACT_SYSTEM(memcmp);
RECOMPACT_SYSTEM(fopen);
RECOMPACT_SYSTEM(fopen64);
RECOMPACT_SYSTEM(getpid);
RECOMPACT_SYSTEM(gettid);
RECOMPACT_SYSTEM(gethostname);
System system_compress(&snappy::RawCompress,
                       "_ZN6snappy11RawCompressEPKcmPcPm");
// RawUncompress() has another form, of a Source.
System system_uncompress(
    static_cast<bool (*)(const char*, size_t, char*)>(nullptr),
    "_ZN6snappy13RawUncompressEPKcmPc");
System system_random_value(static_cast<unsigned (*)(void*)>(nullptr),
                           "_ZNSt13random_device9_M_getvalEv");
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
  simulation->Pass();
  return clock == CLOCK_THREAD_CPUTIME_ID
             ? simulation->Computed() / kPicosPerNano
             : BeginningNs(clock) + simulation->Now() / kPicosPerNano;
}

// After some work, of whose failure errno may tell.
void Pass() {
  Simulation* const simulation = Here();
  if (simulation == nullptr) return;
  const int error = errno;
  simulation->Pass();
  errno = error;
}

ssize_t Transferred(Work calls, Work bytes, ssize_t result) {
  Count(calls);
  if (result > 0) Count(bytes, result);
  Pass();
  return result;
}

int FileOperation(int result) {
  Count(Work::kFileOperation);
  Pass();
  return result;
}

template <typename Lock, typename Try>
int TakeLock(Simulation* simulation, Lock* lock, Try try_lock,
             const char* what) {
  simulation->Pass();
  int result;
  while ((result = try_lock(lock)) == EBUSY) simulation->WaitAt(lock, what);
  return result;
}

int WaitForCondition(Simulation* simulation, pthread_cond_t* condition,
                     pthread_mutex_t* mutex, SimTime deadline) {
  system_pthread_mutex_unlock(mutex);
  simulation->WakeOne(mutex);
  const bool woken = simulation->WaitAt(condition, "a condition", deadline);
  TakeLock(simulation, mutex, system_pthread_mutex_trylock, "a mutex");
  return woken ? 0 : ETIMEDOUT;
}

// A thread's last turn ends when the destructors of its thread_local objects
// and of its other keys are done: this key's is called again in each round of
// those, and acts in the last but one: the last is the thread sanitizer's.
struct Start {
  Simulation* simulation;  // nullptr: in real time
  Simulation::Thread* thread;
  void* (*function)(void*);
  void* argument;
  int rounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
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
  EndWorkOfThisThread();
  if (simulation != nullptr) simulation->EndThisThread();
}

void* RunThread(void* value) {
  Start* const start = static_cast<Start*>(value);
  if (start->simulation != nullptr) start->simulation->Begin(start->thread);
  BeginWorkOfThisThread();
  ::pthread_setspecific(end_key, start);
  return start->function(start->argument);
}

// Simulated threads have handles that are the same in every run: some take them
// for random numbers.
struct Handled {
  Simulation::Thread* thread;
  pthread_t system;
};
std::unordered_map<pthread_t, Handled> threads;  // That may be joined

pthread_t HandleOf(const Simulation::Thread* thread) {
  return Simulation::NumberOf(thread);
}

pthread_t SystemHandle(pthread_t thread) {
  const Simulation::Thread* const self = Simulation::ThisThread();
  if (self != nullptr && thread == HandleOf(self)) {
    return system_pthread_self();
  }
  const auto found = threads.find(thread);
  return found == threads.end() ? thread : found->second.system;
}

// Random numbers of the kernel, which a simulated host does not have.
bool IsRandom(const char* path) {
  return Here() != nullptr &&
         (std::strncmp(path, "/proc/sys/kernel/random/", 24) == 0 ||
          std::strcmp(path, "/dev/urandom") == 0 ||
          std::strcmp(path, "/dev/random") == 0);
}

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
  Count(Work::kThreadStart);
  Simulation* const simulation = Here();
  system_pthread_once(
      &end_key_once, +[] { ::pthread_key_create(&end_key, EndRound); });
  auto* const start = new Start{simulation, nullptr, function, argument};
  const auto start_real = [&](Simulation::Thread* simulated) {
    start->thread = simulated;
    return system_pthread_create(thread, attributes, RunThread, start);
  };
  const int error = simulation == nullptr ? start_real(nullptr)
                                          : simulation->StartThread(start_real);
  if (error != 0) {
    delete start;
    return error;
  }
  if (simulation == nullptr) return 0;
  const pthread_t handle = HandleOf(start->thread);
  threads[handle] = {start->thread, *thread};
  *thread = handle;
  simulation->GiveWay();
  return 0;
}

pthread_t pthread_self() {
  const Simulation::Thread* const self = Simulation::ThisThread();
  return self == nullptr ? system_pthread_self() : HandleOf(self);
}

int pthread_join(pthread_t thread, void** result) {
  Simulation* const simulation = Here();
  const auto joined = threads.find(thread);
  if (simulation == nullptr || joined == threads.end()) {
    return system_pthread_join(thread, result);
  }
  const auto [ended, system] = joined->second;
  threads.erase(joined);
  return simulation->WaitForEnd(
      ended, [&] { return system_pthread_join(system, result); });
}

int pthread_detach(pthread_t thread) {
  const int error = system_pthread_detach(SystemHandle(thread));
  threads.erase(thread);
  return error;
}

int pthread_getcpuclockid(pthread_t thread, clockid_t* clock) {
  return system_pthread_getcpuclockid(SystemHandle(thread), clock);
}

int pthread_getattr_np(pthread_t thread, pthread_attr_t* attributes) {
  return system_pthread_getattr_np(SystemHandle(thread), attributes);
}

int pthread_setname_np(pthread_t thread, const char* name) {
  Simulation* const simulation = Here();
  if (simulation != nullptr && ::pthread_equal(thread, ::pthread_self())) {
    simulation->SetNameOfThisThread(name);
  }
  return system_pthread_setname_np(SystemHandle(thread), name);
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
  Count(Work::kLock);
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_mutex_lock(mutex);
  return TakeLock(simulation, mutex, system_pthread_mutex_trylock, "a mutex");
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Count(Work::kLock);
  Simulation* const simulation = Here();
  if (simulation != nullptr) {
    simulation->GiveWay(kSpin);
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
  Count(Work::kLock);
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_rwlock_rdlock(lock);
  return TakeLock(simulation, lock, system_pthread_rwlock_tryrdlock,
                  "a read lock");
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  Count(Work::kLock);
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
  Count(Work::kWait);
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_cond_wait(condition, mutex);
  return WaitForCondition(simulation, condition, mutex, kNoDeadline);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           clockid_t clock, const timespec* deadline) {
  Count(Work::kWait);
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
    Count(Work::kWait);
    return system_pthread_cond_timedwait(condition, mutex, deadline);
  }
  return ::pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, deadline);
}

int pthread_cond_signal(pthread_cond_t* condition) {
  Count(Work::kSignal);
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_cond_signal(condition);
  simulation->WakeOne(condition);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) {
  Count(Work::kSignal);
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_pthread_cond_broadcast(condition);
  simulation->WakeAll(condition);
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) {
  Count(Work::kClockRead);
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_clock_gettime(clock, time);
  const int64_t ns = LookNs(simulation, clock);
  *time = {ns / kNsPerSecond, ns % kNsPerSecond};
  return 0;
}

int gettimeofday(timeval* time, void* zone) {
  if (Here() == nullptr) {
    Count(Work::kClockRead);
    return system_gettimeofday(time, zone);
  }
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* result) {
  if (Here() == nullptr) {
    Count(Work::kClockRead);
    return system_time(result);
  }
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                    timespec* left) {
  Count(Work::kWait);
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
  if (Here() == nullptr) {
    Count(Work::kWait);
    return system_nanosleep(time, left);
  }
  return ::clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

int usleep(useconds_t micros) {
  if (Here() == nullptr) {
    Count(Work::kWait);
    return system_usleep(micros);
  }
  const timespec time = {micros / 1'000'000, micros % 1'000'000 * 1000};
  return ::nanosleep(&time, nullptr);
}

int sched_yield() {
  Count(Work::kYield);
  Simulation* const simulation = Here();
  if (simulation == nullptr) return system_sched_yield();
  simulation->GiveWay(kSpin);
  return 0;
}

int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  const int result = system_getrusage(who, usage);
  Simulation* const simulation = Here();
  if (simulation == nullptr || who != RUSAGE_SELF) return result;
  simulation->Pass();
  const int64_t us = simulation->ComputedByAll() / kPicosPerNano / 1000;
  usage->ru_utime = {us / 1'000'000, us % 1'000'000};
  usage->ru_stime = {0, 0};
  return result;
}

int sched_getcpu() { return Here() == nullptr ? system_sched_getcpu() : 0; }

long sysconf(int name) {  // NOLINT(runtime/int): the system's
  if (name != _SC_NPROCESSORS_ONLN && name != _SC_NPROCESSORS_CONF) {
    return system_sysconf(name);
  }
  Simulation* const simulation = Here();
  return simulation == nullptr ? system_sysconf(name)
                               : simulation->processor_count();
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

ssize_t read(int file, void* bytes, size_t size) {
  return Transferred(Work::kRead, Work::kReadByte,
                     system_read(file, bytes, size));
}

ssize_t pread(int file, void* bytes, size_t size, off_t offset) {
  return Transferred(Work::kRead, Work::kReadByte,
                     system_pread(file, bytes, size, offset));
}

ssize_t write(int file, const void* bytes, size_t size) {
  return Transferred(Work::kWrite, Work::kWrittenByte,
                     system_write(file, bytes, size));
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return Transferred(Work::kWrite, Work::kWrittenByte,
                     system_pwrite(file, bytes, size, offset));
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);  // Looked at where a file is made
  va_end(more);
  if (IsRandom(path)) {
    errno = ENOENT;
    return -1;
  }
  return FileOperation(
      static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode)));
}

FILE* fopen(const char* path, const char* mode) {
  errno = ENOENT;
  return IsRandom(path) ? nullptr : system_fopen(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  errno = ENOENT;
  return IsRandom(path) ? nullptr : system_fopen64(path, mode);
}

pid_t getpid() { return Here() == nullptr ? system_getpid() : 1; }

pid_t gettid() {
  const Simulation::Thread* const self = Simulation::ThisThread();
  return self == nullptr ? system_gettid()
                         : static_cast<pid_t>(Simulation::NumberOf(self));
}

int gethostname(char* name, size_t size) {
  if (Here() == nullptr) return system_gethostname(name, size);
  std::strncpy(name, "simulated", size);
  return 0;
}

// A member function of the library's, whose name it is.
unsigned RandomDeviceValue(void* device) __asm__(
    "_ZNSt13random_device9_M_getvalEv");
unsigned RandomDeviceValue(void* device) {
  Simulation* const simulation = Here();
  return simulation == nullptr ? system_random_value(device)
                               : static_cast<unsigned>(simulation->Draw());
}

int close(int file) { return FileOperation(system_close(file)); }
int unlink(const char* path) noexcept {
  return FileOperation(system_unlink(path));
}
int rename(const char* from, const char* to) noexcept {
  return FileOperation(system_rename(from, to));
}
int fsync(int file) { return FileOperation(system_fsync(file)); }
int fdatasync(int file) { return FileOperation(system_fdatasync(file)); }

dirent* readdir(DIR* directory) {
  Count(Work::kListedFile);
  return system_readdir(directory);
}

int memcmp(const void* left, const void* right, size_t size) noexcept {
  Count(Work::kCompare);
  return system_memcmp(left, right, size);
}

}  // extern "C"

namespace snappy {

void RawCompress(const char* input, size_t size, char* output,
                 size_t* output_size) {
  Count(Work::kCompressedByte, size);
  system_compress(input, size, output, output_size);
  Pass();
}

bool RawUncompress(const char* input, size_t size, char* output) {
  size_t output_size = 0;
  if (GetUncompressedLength(input, size, &output_size)) {
    Count(Work::kUncompressedByte, output_size);
  }
  const bool done = system_uncompress(input, size, output);
  Pass();
  return done;
}

}  // namespace snappy
