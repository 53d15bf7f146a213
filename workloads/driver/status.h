#ifndef RECOMPACT_WORKLOADS_DRIVER_STATUS_H_
#define RECOMPACT_WORKLOADS_DRIVER_STATUS_H_

#include <string>
#include <utility>

namespace recompact {

// The driver's exit status; README.md lists them for the pipeline.
enum class ExitCode {
  kOk = 0,
  kFailed = 1,
  kBadInput = 2,
  kLocked = 3,
  kWrongValue = 4,
  kNoSpace = 5,
};

// The outcome of a step of the driver: nothing, or one sentence that names the
// place (a file, a key of the specification), what is wrong there and what to
// do about it, with the exit code that it leads to.
class [[nodiscard]] Status {
 public:
  static Status OK() { return Status(); }

  Status() = default;
  // "where" is a path or "path: key"; "what" and "remedy" are clauses.
  Status(ExitCode code, const std::string& where, const std::string& what,
         const std::string& remedy)
      : code_(code), message_(where + ": " + what + " ; " + remedy) {}

  static Status BadInput(const std::string& where, const std::string& what,
                         const std::string& remedy) {
    return Status(ExitCode::kBadInput, where, what, remedy);
  }
  static Status Failed(const std::string& where, const std::string& what,
                       const std::string& remedy) {
    return Status(ExitCode::kFailed, where, what, remedy);
  }

  bool ok() const { return code_ == ExitCode::kOk; }
  ExitCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  ExitCode code_ = ExitCode::kOk;
  std::string message_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_STATUS_H_
