#ifndef RECOMPACT_WORKLOADS_DRIVER_STORE_H_
#define RECOMPACT_WORKLOADS_DRIVER_STORE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "driver/status.h"

namespace recompact {

// The face that the replay drives an engine by; one implementation per engine
// family.  All but Reopen() are safe to call from several threads.
class Store {
 public:
  // Receives a scan's records in key order; returns false to end the scan.
  class Visitor {
   public:
    virtual bool Visit(std::string_view key, std::string_view value) = 0;

   protected:
    ~Visitor() = default;
  };

  virtual ~Store() = default;

  virtual Status Put(std::string_view key, std::string_view value) = 0;
  virtual Status Delete(std::string_view key) = 0;
  // Sets *found; on true also *value.
  virtual Status Get(std::string_view key, std::string* value, bool* found) = 0;
  // Visits up to "count" records from the first at or after "key".
  virtual Status Scan(std::string_view key, uint32_t count,
                      Visitor* visitor) = 0;

  // Whether no flush or compaction is running or due.
  virtual bool Idle() = 0;
  // Compacts the whole key range down, and returns when done.
  virtual void CompactAll() = 0;
  // What went wrong first in work that no call above waits for.
  virtual Status Health() = 0;
  // A property of the engine; false if it does not have it.
  virtual bool Property(const std::string& name, std::string* value) = 0;
  // Closes the database and opens it again: caches are empty, counters of the
  // engine begin at 0.
  virtual Status Reopen() = 0;
};

}  // namespace recompact

#endif  // RECOMPACT_WORKLOADS_DRIVER_STORE_H_
