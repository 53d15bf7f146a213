#ifndef RECOMPACT_WORKLOADS_DRIVER_STORE_LEVELDB_H_
#define RECOMPACT_WORKLOADS_DRIVER_STORE_LEVELDB_H_

#include <map>
#include <memory>
#include <string>

#include "driver/device_env.h"
#include "driver/store.h"

namespace recompact {

// Opens, or creates, the LevelDB database at "path" in "env", which must
// outlive the store.  "options" are texts by name, see EngineOptions.  Options
// not given keep the engine's defaults.  If "event_log_path" is not
// empty, engines that keep an event log write it there.
//
// An option that the engine does not have is a BadInput that names
// "<where>: engine.options.<name>".
Status OpenLevelDbStore(const std::string& path,
                        const std::map<std::string, std::string>& options,
                        const std::string& event_log_path,
                        const std::string& where, DeviceEnv* env,
                        std::unique_ptr<Store>* store);

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_STORE_LEVELDB_H_
