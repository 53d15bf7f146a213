#ifndef RECOMPACT_ENGINES_SEAMS_OPTION_FIELDS_H_
#define RECOMPACT_ENGINES_SEAMS_OPTION_FIELDS_H_

#include <map>
#include <string>

#include "leveldb/options.h"

namespace recompact {

// Sets one field from its text; returns false if the text does not parse.
using OptionSetter = bool (*)(leveldb::Options* options,
                              const std::string& value);

bool ParseOption(const std::string& text, bool* value);
bool ParseOption(const std::string& text, int* value);
bool ParseOption(const std::string& text, uint64_t* value);
bool ParseOption(const std::string& text, std::string* value);

// The setter of a scalar field: SetField<int, &leveldb::Options::fanout>.
template <typename T, T leveldb::Options::* field>
bool SetField(leveldb::Options* options, const std::string& value) {
  return ParseOption(value, &(options->*field));
}

// The fields that an engine family has beyond upstream's, by name.  Defined
// once for pristine and once for the patched tree.
const std::map<std::string, OptionSetter>& EngineOptionFields();

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_SEAMS_OPTION_FIELDS_H_
