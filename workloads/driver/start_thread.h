#ifndef RECOMPACT_WORKLOADS_DRIVER_START_THREAD_H_
#define RECOMPACT_WORKLOADS_DRIVER_START_THREAD_H_

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "driver/status.h"

namespace recompact {

// Lets "function" run in "thread", or says that there is no thread to be had
// for "whose" work.
template <typename Function>
Status StartThread(const std::string& whose, Function function,
                   std::thread* thread) {
  try {
    *thread = std::thread(std::move(function));
    return Status::OK();
  } catch (const std::system_error& error) {
    return Status::Failed(
        whose, std::string("there is no thread to be had: ") + error.what(),
        "raise the limit on processes (ulimit -u) or on tasks (pids.max)");
  }
}

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_START_THREAD_H_
