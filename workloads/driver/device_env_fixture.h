#ifndef RECOMPACT_WORKLOADS_DRIVER_DEVICE_ENV_FIXTURE_H_
#define RECOMPACT_WORKLOADS_DRIVER_DEVICE_ENV_FIXTURE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "driver/device_env.h"
#include "driver/fake_clock.h"
#include "driver/test_directory.h"
#include "gtest/gtest.h"

namespace recompact {

constexpr int64_t kMs = 1000000;

// Times are easy to add up: 4000 bytes take 40 us, positioning 10 ms.
inline DeviceParameters SimpleHdd() {
  DeviceParameters parameters;
  parameters.kind = DeviceKind::kHdd;
  parameters.read_bandwidth_mb_s = 100;
  parameters.write_bandwidth_mb_s = 100;
  parameters.read_seek_ms = 6;
  parameters.write_seek_ms = 6;
  parameters.rotation_rpm = 7500;
  parameters.read_ahead_bytes = 100000;
  parameters.writeback_bytes = 10000;
  parameters.dirty_limit_bytes = 1 << 30;
  parameters.sync_latency_us = 3000;
  return parameters;
}

// A device env on a directory in memory, with a clock that stands still.
class DeviceEnvTest : public ::testing::Test {
 public:
  void NewEnv(const DeviceParameters& parameters, double scale_factor = 1,
              bool direct_io = false) {
    env_ = std::make_unique<DeviceEnv>(leveldb::Env::Default(), parameters,
                                       scale_factor, directory_.path(), &clock_,
                                       direct_io);
  }
  void NewDirectEnv(const DeviceParameters& parameters) {
    NewEnv(parameters, 1, /*direct_io=*/true);
  }

  std::unique_ptr<leveldb::WritableFile> Create(const std::string& name) {
    leveldb::WritableFile* file = nullptr;
    EXPECT_TRUE(env_->NewWritableFile(directory_.File(name), &file).ok());
    return std::unique_ptr<leveldb::WritableFile>(file);
  }
  std::unique_ptr<leveldb::RandomAccessFile> Open(const std::string& name) {
    leveldb::RandomAccessFile* file = nullptr;
    EXPECT_TRUE(env_->NewRandomAccessFile(directory_.File(name), &file).ok());
    return std::unique_ptr<leveldb::RandomAccessFile>(file);
  }
  // A file that was there before.
  std::unique_ptr<leveldb::RandomAccessFile> Open(const std::string& name,
                                                  size_t bytes) {
    WriteText(directory_.File(name), std::string(bytes, 'x'));
    return Open(name);
  }
  void Read(leveldb::RandomAccessFile* file, uint64_t offset, size_t bytes) {
    std::string scratch(bytes, '\0');
    leveldb::Slice result;
    ASSERT_TRUE(file->Read(offset, bytes, &result, scratch.data()).ok());
  }

  // The time that passes in "step".
  template <typename Step>
  int64_t Took(Step step) {
    const int64_t begin_ns = clock_.NowNs();
    step();
    return clock_.NowNs() - begin_ns;
  }

  // Runs "step" in a thread of the env's and returns after it.
  void RunInThread(std::function<void()> step) {
    struct Thread {
      std::function<void()> step;
      std::atomic<bool> done{false};
      static void Run(void* arg) {
        Thread* const thread = static_cast<Thread*>(arg);
        thread->step();
        thread->done = true;
      }
    } thread{std::move(step)};
    env_->StartThread(&Thread::Run, &thread);
    while (!thread.done) std::this_thread::yield();
  }

  TestDirectory directory_;
  FakeClock clock_;
  std::unique_ptr<DeviceEnv> env_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_DEVICE_ENV_FIXTURE_H_
