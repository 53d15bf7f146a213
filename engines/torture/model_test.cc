// One seeded stream on the engine and on an ordered map with versions, under
// every option set.
#include <algorithm>
#include <sstream>
#include <utility>

#include "gtest/gtest.h"
#include "torture/player.h"
#include "torture/torture_flags.h"

namespace recompact {
namespace {

constexpr uint64_t kOperations = 2'600'000;  // over all option sets
constexpr size_t kLeastOptionSets = 20;

std::string Listing(const std::vector<Operation>& operations) {
  std::ostringstream text;
  for (const Operation& operation : operations) {
    text << "  " << ToText(operation) << "\n";
  }
  return text.str();
}

using OptionSet = EngineUnderTest::OptionSet;

class ModelTest : public ::testing::TestWithParam<OptionSet> {};

TEST_P(ModelTest, Agrees) {
  const OptionSet& set = GetParam();
  const size_t sets = flags.engine.option_sets.size();
  const uint64_t streams =
      std::max<uint64_t>(1, flags.Count(kOperations) / flags.stream / sets);
  for (uint64_t i = 0; i < streams; i++) {
    const uint64_t seed = flags.seed + i;
    std::vector<Operation> operations = Generate(seed, flags.stream);
    const auto difference = Play(flags.engine, set.options, operations);
    Report("model_operations", operations.size());
    if (!difference) continue;
    operations.resize(difference->operation + 1);
    operations = Shrink(flags.engine, set.options, std::move(operations),
                        flags.shrinking);
    const auto again = Play(flags.engine, set.options, operations);
    FAIL() << "seed " << seed << ": operation " << difference->operation << ": "
           << difference->text << "\nshrunk to " << operations.size()
           << " operations" << (again ? ": " + again->text : ", not every time")
           << "\n"
           << Listing(operations);
  }
}

INSTANTIATE_TEST_SUITE_P(Under, ModelTest,
                         ::testing::ValuesIn(flags.engine.option_sets),
                         [](const auto& info) { return info.param.name; });

TEST(OptionSetsTest, AreEnough) {
  EXPECT_GE(flags.engine.option_sets.size(), kLeastOptionSets);
}

}  // namespace
}  // namespace recompact
