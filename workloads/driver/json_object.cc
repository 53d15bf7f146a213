#include "driver/json_object.h"

#include <limits>
#include <utility>

namespace recompact {

JsonObject::JsonObject(const nlohmann::ordered_json& value, std::string where)
    : value_(value), where_(std::move(where)) {
  if (!value_.is_object()) {
    status_ = Status::BadInput(where_, "must be an object",
                               "correct the specification");
  }
}

std::string JsonObject::Where(const std::string& name) const {
  // "spec.json" + "run" = "spec.json: run"; below that, a path with dots.
  const bool top = where_.find(": ") == std::string::npos;
  return where_ + (top ? ": " : ".") + name;
}

void JsonObject::Fail(const std::string& name, const std::string& what) {
  Fail(Status::BadInput(Where(name), what, "correct the specification"));
}

void JsonObject::Fail(const Status& status) {
  if (status_.ok()) status_ = status;
}

bool JsonObject::Has(const char* name) const {
  return status_.ok() && value_.contains(name);
}

const nlohmann::ordered_json* JsonObject::Take(const char* name) {
  if (!status_.ok()) return nullptr;
  const auto member = value_.find(name);
  if (member == value_.end()) {
    Fail(name, "is missing");
    return nullptr;
  }
  taken_.insert(name);
  return &*member;
}

void JsonObject::Take(const char* name, std::string* value) {
  const nlohmann::ordered_json* const member = Take(name);
  if (member == nullptr) return;
  if (!member->is_string()) return Fail(name, "must be a text");
  *value = member->get<std::string>();
}

void JsonObject::Take(const char* name, bool* value) {
  const nlohmann::ordered_json* const member = Take(name);
  if (member == nullptr) return;
  if (!member->is_boolean()) return Fail(name, "must be true or false");
  *value = member->get<bool>();
}

void JsonObject::Take(const char* name, uint64_t* value) {
  const nlohmann::ordered_json* const member = Take(name);
  if (member == nullptr) return;
  if (!member->is_number_unsigned()) {
    return Fail(name, "must be a whole number, not negative");
  }
  *value = member->get<uint64_t>();
}

void JsonObject::Take(const char* name, int minimum, int* value) {
  uint64_t number = static_cast<uint64_t>(minimum);
  Take(name, &number);
  if (number < static_cast<uint64_t>(minimum) ||
      number > static_cast<uint64_t>(std::numeric_limits<int>::max())) {
    return Fail(name, "must be at least " + std::to_string(minimum));
  }
  *value = static_cast<int>(number);
}

double JsonObject::TakeNumber(const char* name) {
  const nlohmann::ordered_json* const member = Take(name);
  if (member == nullptr) return 0;
  if (!member->is_number()) Fail(name, "must be a number");
  return member->is_number() ? member->get<double>() : 0;
}

void JsonObject::TakePositive(const char* name, double* value) {
  *value = TakeNumber(name);
  if (!(*value > 0)) Fail(name, "must be above 0");
}

void JsonObject::TakeNotNegative(const char* name, double* value) {
  *value = TakeNumber(name);
  if (!(*value >= 0)) Fail(name, "must not be negative");
}

Status JsonObject::Finish() {
  if (!status_.ok()) return status_;
  for (const auto& member : value_.items()) {
    if (taken_.count(member.key()) == 0) {
      Fail(member.key(), "is not a known key here");
    }
  }
  return status_;
}

}  // namespace recompact
