#include "seams/options_by_name.h"

#include <cerrno>
#include <cstdlib>
#include <limits>

#include "seams/option_fields.h"

namespace recompact {

using leveldb::Options;

bool ParseOption(const std::string& text, bool* value) {
  if (text != "true" && text != "false") return false;
  *value = (text == "true");
  return true;
}

bool ParseOption(const std::string& text, uint64_t* value) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
    return false;
  errno = 0;
  const unsigned long long parsed = std::strtoull(text.c_str(), nullptr, 10);
  if (errno != 0) return false;
  *value = parsed;
  return true;
}

bool ParseOption(const std::string& text, int* value) {
  uint64_t parsed;
  if (!ParseOption(text, &parsed) ||
      parsed > static_cast<uint64_t>(std::numeric_limits<int>::max())) {
    return false;
  }
  *value = static_cast<int>(parsed);
  return true;
}

bool ParseOption(const std::string& text, std::string* value) {
  *value = text;
  return true;
}

namespace {

bool SetCompression(Options* options, const std::string& value) {
  if (value != "snappy" && value != "none") return false;
  options->compression = (value == "snappy") ? leveldb::kSnappyCompression
                                             : leveldb::kNoCompression;
  return true;
}

const std::map<std::string, OptionSetter>& UpstreamOptionFields() {
  static const auto* const fields = new std::map<std::string, OptionSetter>{
      {"block_restart_interval",
       &SetField<int, &Options::block_restart_interval>},
      {"block_size", &SetField<size_t, &Options::block_size>},
      {"compression", &SetCompression},
      {"max_file_size", &SetField<size_t, &Options::max_file_size>},
      {"max_open_files", &SetField<int, &Options::max_open_files>},
      {"create_if_missing", &SetField<bool, &Options::create_if_missing>},
      {"paranoid_checks", &SetField<bool, &Options::paranoid_checks>},
      {"reuse_logs", &SetField<bool, &Options::reuse_logs>},
      {"write_buffer_size", &SetField<size_t, &Options::write_buffer_size>},
  };
  return *fields;
}

}  // namespace

bool SetOptionByName(Options* options, const std::string& name,
                     const std::string& value, std::string* error) {
  for (const auto* fields : {&UpstreamOptionFields(), &EngineOptionFields()}) {
    const auto field = fields->find(name);
    if (field == fields->end()) continue;
    if (field->second(options, value)) return true;
    *error = "option " + name + ": cannot take the value \"" + value + "\"";
    return false;
  }
  *error = "option " + name + ": this engine does not have it";
  return false;
}

}  // namespace recompact
