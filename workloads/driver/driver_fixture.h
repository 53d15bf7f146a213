#ifndef RECOMPACT_WORKLOADS_DRIVER_DRIVER_FIXTURE_H_
#define RECOMPACT_WORKLOADS_DRIVER_DRIVER_FIXTURE_H_

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "driver/test_directory.h"
#include "driver/trace_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace recompact {

using Json = nlohmann::ordered_json;

constexpr const char* kSsd = R"({"id": "ssd", "kind": "ssd",
    "read_bandwidth_mb_s": 2000, "write_bandwidth_mb_s": 1000,
    "read_latency_us": 50, "write_latency_us": 10, "channels": 8,
    "half_duplex": true, "read_ahead_bytes": 131072,
    "writeback_bytes": 1048576, "dirty_limit_bytes": 16777216,
    "page_cache_bytes": 0, "sync_latency_us": 100})";
constexpr int kKeys = 2000;
constexpr uint32_t kValueBytes = 500;

// The driver of the same build, which lies beside this program.
inline std::string Driver() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
         "recompact_driver";
}

inline Json ReplayPhase(const std::string& name, const std::string& trace) {
  return {{"name", name},     {"kind", "replay"},
          {"trace", trace},   {"start", 0},
          {"count", nullptr}, {"pace", {{"kind", "closed"}}},
          {"threads", 1},     {"warmup_operations", 0}};
}

inline Json OtherPhase(const std::string& name, const std::string& kind) {
  return {{"name", name}, {"kind", kind}};
}

// Runs the driver's binary as the pipeline does.
class DriverTest : public ::testing::Test {
 protected:
  DriverTest() {
    spec_ = {{"schema", 1}, {"run", "00000000000000aa"}};
    spec_["engine"]["id"] = "pristine";
    spec_["engine"]["options"] = {{"write_buffer_size", 65536},
                                  {"block_cache_bytes", 65536},
                                  {"bloom_bits_per_key", 10},
                                  {"compression", "snappy"},
                                  {"max_open_files", 1000}};
    spec_["device"] = {{"id", "memory"}, {"kind", "memory"}};
    spec_["scale_factor"] = 1;
    spec_["seed"] = 1;
    spec_["compressibility"] = 0.5;
    spec_["key_order"] = "hashed";
    spec_["value_checks"] = true;
    spec_["timeline_interval_ms"] = 10;
    spec_["start_from"] = nullptr;
    spec_["keep_database"] = false;
    spec_["phases"] = Json::array();
  }

  std::string Trace(const std::string& name, const TraceBuilder& builder) {
    const std::string path = directory_.File(name + ".trace");
    builder.Write(path);
    return path;
  }
  std::string LoadTrace() {
    TraceBuilder builder;
    for (int key = 0; key < kKeys; key++) {
      builder.Add(Operation::kInsert, key, kValueBytes);
    }
    return Trace("load", builder);
  }
  // Every kind of operation on the loaded keys.
  std::string MixedTrace() {
    TraceBuilder builder;
    for (int i = 0; i < 6000; i++) {
      const uint64_t key = i * 7919 % kKeys;
      switch (i % 6) {
        case 0:
          builder.Add(Operation::kUpdate, key, kValueBytes - i % 100);
          break;
        case 1:
          builder.Add(Operation::kScan, key, i % 50);
          break;
        case 2:
          builder.Add(Operation::kDelete, key);
          break;
        default:
          builder.Add(Operation::kRead, key);
      }
    }
    return Trace("mixed", builder);
  }

  // Runs the driver; returns its exit code.  stderr_ receives its messages.
  int Run(rlim_t file_size_limit = RLIM_INFINITY) {
    WriteText(directory_.File("spec.json"), spec_.dump());
    const std::vector<std::string> words = {
        Driver(), "--spec", directory_.File("spec.json"),
        "--out",  out_,     "--data-dir",
        data_,    "--lock", directory_.File("lock")};
    return Execute(words, file_size_limit);
  }

  int Execute(const std::vector<std::string>& words, rlim_t file_size_limit) {
    const std::string errors = directory_.File("stderr");
    const pid_t child = ::fork();
    if (child == 0) {
      const struct rlimit limit = {file_size_limit, RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      ::dup2(::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
      std::vector<char*> arguments;
      for (const std::string& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));
      }
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    stderr_ = ReadText(errors);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Expects one line on stderr, with "what", and no results.
  void ExpectFails(int exit_code, const std::string& what,
                   rlim_t file_size_limit = RLIM_INFINITY) {
    EXPECT_EQ(Run(file_size_limit), exit_code);
    EXPECT_THAT(stderr_, ::testing::StartsWith("recompact_driver: "));
    EXPECT_THAT(stderr_, ::testing::HasSubstr(what));
    EXPECT_EQ(std::count(stderr_.begin(), stderr_.end(), '\n'), 1) << stderr_;
    EXPECT_FALSE(std::filesystem::exists(out_ + "/run.json"));
  }

  Json Record() {
    return Json::parse(ReadText(out_ + "/run.json"), nullptr, false);
  }

  // Latencies of a phase's operations, in their order.
  std::vector<float> LatenciesUs(const std::string& phase) {
    const std::string bytes = ReadText(out_ + "/latency." + phase + ".f32");
    std::vector<float> latencies(bytes.size() / sizeof(float));
    memcpy(latencies.data(), bytes.data(), latencies.size() * sizeof(float));
    return latencies;
  }

  TestDirectory directory_;
  const std::string out_ = directory_.File("out");
  std::string data_ = directory_.File("data");
  Json spec_;
  std::string stderr_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_DRIVER_FIXTURE_H_
