#ifndef RECOMPACT_ENGINES_TORTURE_REPAIR_FIXTURE_H_
#define RECOMPACT_ENGINES_TORTURE_REPAIR_FIXTURE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "torture/model.h"
#include "torture/operations.h"
#include "torture/simulated_env.h"
#include "torture/torture_flags.h"

namespace recompact {

// The files of a database, by name.
using Files = std::map<std::string, std::string>;

std::vector<std::string> NamesOfType(const Files& files,
                                     const std::string& type);

// Without the log for people and the lock, which come and go.
Files WithoutNotes(Files files);

// A database of seeded writes, which is damaged, repaired, and judged key by
// key.  The parameter is an option set.
class RepairFixture : public ::testing::TestWithParam<const char*> {
 protected:
  // Keys of which the newest write may be lost: an older one or none may be
  // there instead.
  using Uncertain = std::set<std::string>;

  RepairFixture();

  // Skips the unpatched release, which repairs as upstream has it.
  void SetUp() override;

  std::unique_ptr<SimulatedEnv> EnvWith(const Files& files) const;
  std::unique_ptr<Database> DatabaseOn(SimulatedEnv* env) const {
    return MakeDatabase(GetParam(), env, kPath);
  }
  static Files FilesOf(const SimulatedEnv& env);

  // Whether the engine's tree holds what upstream's cannot, so that it is lost
  // with its MANIFEST.
  bool HasOwnFormat() const { return has_own_format_; }

  // Flips two bytes of a table, cuts it, empties it or removes it, and says so.
  static std::string DamageTable(Files* files, const std::string& name,
                                 std::mt19937_64* random);

  // Loses CURRENT in one of the ways, and says so.
  static constexpr unsigned kWaysToLoseCurrent = 6;
  static std::string DamageCurrent(Files* files, unsigned way,
                                   std::mt19937_64* random);

  // Adds the keys that the damage of a table made uncertain: none, if the
  // database opens without that table.
  void AddUncertain(const Files& damaged, const std::string& name,
                    Uncertain* uncertain) const;

  // What is wrong with a database after its repair, or "": every key can be
  // read and holds what it should, a scan says the same, it takes writes,
  // CompactRange and a reopening with paranoid checks.
  std::string JudgeRepaired(SimulatedEnv* env,
                            const Uncertain& uncertain) const;

  static constexpr char kPath[] = "/db";

  Files files_;  // undamaged

 private:
  using Answers = std::map<std::string, std::optional<std::string>>;

  // Gets every key; returns the first error or key that it may not hold.
  std::string ReadKeys(Database* database, const Uncertain& uncertain,
                       Answers* answers) const;

  // What of the database is not as the answers have it, or breaks a rule.
  static std::string Differs(SimulatedEnv* env, Database* database,
                             const Answers& answers);

  std::string TakesWrites(SimulatedEnv* env, Database* database,
                          Answers* answers) const;

  bool has_own_format_ = false;
  const std::vector<Operation> operations_;
  Model model_;
  std::map<std::string, std::set<std::string>> written_;  // by key
  std::map<std::string, uint64_t> newest_;  // sequence number, by key
};

}  // namespace recompact

#endif  // RECOMPACT_ENGINES_TORTURE_REPAIR_FIXTURE_H_
