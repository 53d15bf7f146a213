#ifndef RECOMPACT_WORKLOADS_DRIVER_JSON_OBJECT_H_
#define RECOMPACT_WORKLOADS_DRIVER_JSON_OBJECT_H_

#include <cstdint>
#include <set>
#include <string>

#include "driver/status.h"
#include "nlohmann/json.hpp"

namespace recompact {

// Takes the members of a JSON object out by name and remembers the first thing
// that is wrong: a member that is missing, has another type or is out of range,
// or, at Finish(), one that nobody took.  After an error all calls do nothing.
class JsonObject {
 public:
  // "where" names the object in messages: "spec.json: phases[0]".
  JsonObject(const nlohmann::ordered_json& value, std::string where);

  void Take(const char* name, std::string* value);
  void Take(const char* name, bool* value);
  void Take(const char* name, uint64_t* value);
  // REQUIRES the member to be >= minimum, as it does not make sense below.
  void Take(const char* name, int minimum, int* value);
  void TakePositive(const char* name, double* value);
  void TakeNotNegative(const char* name, double* value);
  // A member of any type, or nullptr on an error.
  const nlohmann::ordered_json* Take(const char* name);

  bool Has(const char* name) const;
  // Takes the member without using it.
  void Ignore(const char* name) { taken_.insert(name); }

  // The place of a member, for messages.
  std::string Where(const std::string& name) const;
  // Records an error at the member, unless there is one already.
  void Fail(const std::string& name, const std::string& what);
  void Fail(const Status& status);
  // The first error, or OK if every member was taken.
  Status Finish();

 private:
  double TakeNumber(const char* name);

  const nlohmann::ordered_json& value_;
  const std::string where_;
  std::set<std::string> taken_;
  Status status_;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_JSON_OBJECT_H_
