#include "seams/option_fields.h"

namespace recompact {

const std::map<std::string, OptionSetter>& EngineOptionFields() {
  static const auto* const none = new std::map<std::string, OptionSetter>;
  return *none;
}

}  // namespace recompact
