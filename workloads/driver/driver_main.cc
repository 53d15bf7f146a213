// recompact_driver --spec spec.json --out DIR --data-dir DIR [--lock FILE]
// recompact_driver --build
// recompact_driver --primitives
//
// Carries out one run and writes its results, or tells how it was built, or
// what threads cost on this host.  On an error, one line on stderr says where,
// what and what to do; README.md lists the exit codes.

#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "driver/run.h"
#include "driver/run_directory.h"
#include "driver/run_record.h"
#include "driver/run_spec.h"
#include "driver/status.h"
#include "simulator/primitives.h"

namespace recompact {

namespace {

struct Flags {
  std::string spec;
  std::string out;
  std::string data_dir;
  std::string lock;
  bool build = false;
  bool primitives = false;
};

Status ParseFlags(int argc, char** argv, Flags* flags) {
  const option options[] = {{"spec", required_argument, nullptr, 's'},
                            {"out", required_argument, nullptr, 'o'},
                            {"data-dir", required_argument, nullptr, 'd'},
                            {"lock", required_argument, nullptr, 'l'},
                            {"build", no_argument, nullptr, 'b'},
                            {"primitives", no_argument, nullptr, 'p'},
                            {nullptr, 0, nullptr, 0}};
  const char* const usage =
      "use --spec spec.json --out DIR --data-dir DIR [--lock FILE], or "
      "--build, "
      "or --primitives";
  const char* const temporary = std::getenv("TMPDIR");
  flags->lock = std::string(temporary != nullptr ? temporary : "/tmp") +
                "/recompact.lock";
  opterr = 0;
  for (int flag;
       (flag = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    if (flag == 's') flags->spec = optarg;
    if (flag == 'o') flags->out = optarg;
    if (flag == 'd') flags->data_dir = optarg;
    if (flag == 'l') flags->lock = optarg;
    if (flag == 'b') flags->build = true;
    if (flag == 'p') flags->primitives = true;
    if (flag == '?') {
      return Status::BadInput("command line",
                              std::string("cannot take ") + argv[optind - 1],
                              usage);
    }
  }
  const bool tells = flags->build || flags->primitives;
  if (tells && argc == 2) return Status::OK();
  if (tells || optind < argc || flags->spec.empty() || flags->out.empty() ||
      flags->data_dir.empty()) {
    return Status::BadInput("command line", "is not complete", usage);
  }
  return Status::OK();
}

// Settings of the process that the threads inherit.
void PrepareProcess() {
  // Sleeps end as soon as the kernel can do it (nanoseconds of slack).
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  // A write beyond a file-size limit fails instead of ending the process.
  ::signal(SIGXFSZ, SIG_IGN);
  // Every open table takes a descriptor.
  struct rlimit files;
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

// Of the threads of a simulation one runs at a time, and hands over faster to
// another on its own processor: takes the first that no other simulation has.
// Where all are taken, or locks cannot be, the kernel chooses.
void KeepToOneProcessor(const std::string& lock_path,
                        std::unique_ptr<MeasurementLock>* taken) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (!CPU_ISSET(processor, &allowed)) continue;
    auto lock = std::make_unique<MeasurementLock>();
    const std::string path = lock_path + "." + std::to_string(processor);
    if (!lock->Acquire(path).ok()) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    *taken = std::move(lock);
    return;
  }
}

Status RunDriver(int argc, char** argv) {
  Flags flags;
  RunSpec spec;
  MeasurementLock lock;
  std::unique_ptr<MeasurementLock> processor;
  Status status = ParseFlags(argc, argv, &flags);
  if (status.ok() && flags.build) {
    std::puts(BuildRecord().dump().c_str());
    return status;
  }
  if (status.ok() && flags.primitives) {
    nlohmann::ordered_json costs_ns;
    for (const auto& [work, ns] : MeasurePrimitives()) {
      costs_ns[kWorkNames[static_cast<int>(work)]] = ns;
    }
    std::puts(costs_ns.dump().c_str());
    return status;
  }
  if (status.ok()) status = ReadRunSpec(flags.spec, &spec);
  // Simulated time is the same beside whatever else runs.
  if (status.ok() && !spec.host) status = lock.Acquire(flags.lock);
  if (!status.ok()) return status;
  PrepareProcess();
  if (spec.host) KeepToOneProcessor(flags.lock, &processor);
  return Run(spec, flags.out, flags.data_dir).Execute();
}

}  // namespace

}  // namespace recompact

int main(int argc, char** argv) {
  const recompact::Status status = recompact::RunDriver(argc, argv);
  if (!status.ok()) {
    std::fprintf(stderr, "recompact_driver: %s\n", status.message().c_str());
  }
  return static_cast<int>(status.code());
}
