#include "driver/trace_reader.h"

#include <fstream>
#include <string>

#include "driver/test_directory.h"
#include "driver/trace_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "util/coding.h"

namespace recompact {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TraceBuilder SmallTrace() {
  TraceBuilder builder;
  builder.Add(Operation::kInsert, 3, 100)
      .Add(Operation::kUpdate, 3, 50)
      .Add(Operation::kRead, 9)
      .Add(Operation::kScan, 0, 20)
      .Add(Operation::kDelete, 3);
  return builder;
}

class TraceReaderTest : public ::testing::Test {
 protected:
  Status Open(const std::string& contents) {
    WriteText(path_, contents);
    return Trace::Open(path_, &trace_);
  }

  // Expects the file to be refused with a message that names it.
  void ExpectRefused(const std::string& contents, const std::string& what) {
    const Status status = Open(contents);
    EXPECT_EQ(status.code(), ExitCode::kBadInput);
    EXPECT_THAT(status.message(), StartsWith(path_ + ": "));
    EXPECT_THAT(status.message(), HasSubstr(what));
    EXPECT_THAT(status.message(), HasSubstr(" ; "));
  }

  TestDirectory directory_;
  const std::string path_ = directory_.File("test.trace");
  std::unique_ptr<Trace> trace_;
};

TEST_F(TraceReaderTest, ReadsWhatWasWritten) {
  const TraceBuilder builder = SmallTrace();
  ASSERT_TRUE(Open(builder.Contents()).ok());
  EXPECT_EQ(trace_->record_count(), 5u);
  EXPECT_EQ(trace_->key_count(), 10u);
  EXPECT_EQ(trace_->seed(), 7u);
  TraceCursor cursor(trace_.get(), 0, 5);
  for (const TraceRecord& expected : builder.records()) {
    const TraceRecord* const record = cursor.Next();
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(record->key_number, expected.key_number);
    EXPECT_EQ(record->length, expected.length);
    EXPECT_EQ(record->operation, expected.operation);
  }
  EXPECT_EQ(cursor.Next(), nullptr);
  EXPECT_TRUE(cursor.status().ok());
}

TEST_F(TraceReaderTest, AgreesWithTheTraceWriter) {
  const char* const names[] = {"",     "insert", "update",     "read",
                               "scan", "delete", "read_recent"};
  for (const char* name : {"/golden", "/golden_latest"}) {
    const std::string path = std::string(RECOMPACT_GOLDEN_TRACES) + name;
    std::ifstream file(path + ".json");
    const auto golden = nlohmann::json::parse(file, nullptr, false);
    ASSERT_TRUE(golden.is_object()) << path;
    const Status status = Trace::Open(path + ".trace", &trace_);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(trace_->seed(), golden["seed"].get<uint64_t>());
    EXPECT_EQ(trace_->key_count(), golden["key_count"].get<uint64_t>());
    ASSERT_EQ(trace_->record_count(), golden["records"].size());

    TraceCursor cursor(trace_.get(), 0, trace_->record_count());
    for (const auto& expected : golden["records"]) {
      const TraceRecord* const record = cursor.Next();
      ASSERT_NE(record, nullptr);
      EXPECT_EQ(names[static_cast<int>(record->operation)],
                expected["op"].get<std::string>());
      EXPECT_EQ(record->key_number, expected["key_number"].get<uint64_t>());
      EXPECT_EQ(record->length, expected["length"].get<uint32_t>());
    }
  }
}

TEST_F(TraceReaderTest, TellsHowFarItsReadsOfRecentUpdatesGoBack) {
  TraceBuilder builder = SmallTrace();
  ASSERT_TRUE(Open(builder.Contents()).ok());
  EXPECT_EQ(trace_->recent_updates(), 0u);
  builder.Add(Operation::kReadRecent, 7).Add(Operation::kReadRecent, 2);
  ASSERT_TRUE(Open(builder.Contents()).ok());
  EXPECT_EQ(trace_->recent_updates(), 8u);
}

TEST_F(TraceReaderTest, ReadsRangesLongerThanAChunk) {
  TraceBuilder builder;
  const uint64_t count = 100000;
  for (uint64_t i = 0; i < count; i++) {
    builder.Add(Operation::kInsert, i, static_cast<uint32_t>(i % 1000 + 1));
  }
  ASSERT_TRUE(Open(builder.Contents()).ok());
  TraceCursor cursor(trace_.get(), 17, count - 20);
  for (uint64_t i = 17; i < count - 3; i++) {
    const TraceRecord* const record = cursor.Next();
    ASSERT_NE(record, nullptr);
    ASSERT_EQ(record->key_number, i);
    const TraceRecord* const ahead = cursor.Peek(1);
    if (ahead != nullptr) {
      ASSERT_EQ(ahead->key_number, i + 1);
    }
  }
  EXPECT_EQ(cursor.Next(), nullptr);
  EXPECT_EQ(cursor.bytes_read(), (count - 20) * 16);
}

TEST_F(TraceReaderTest, SummarizesARange) {
  ASSERT_TRUE(Open(SmallTrace().Contents()).ok());
  TraceSummary summary;
  ASSERT_TRUE(trace_->Summarize(1, 4, &summary).ok());
  EXPECT_EQ(summary.writes(), 2u);
  EXPECT_EQ(summary.bytes_written, 16u + 50 + 16);
  EXPECT_EQ(summary.max_value_bytes, 50u);
}

TEST_F(TraceReaderTest, AcceptsATraceWithoutRecords) {
  ASSERT_TRUE(Open(TraceBuilder().Contents()).ok());
  EXPECT_EQ(TraceCursor(trace_.get(), 0, 0).Next(), nullptr);
}

TEST_F(TraceReaderTest, RefusesAMissingFile) {
  const Status status = Trace::Open(path_, &trace_);
  EXPECT_EQ(status.code(), ExitCode::kBadInput);
  EXPECT_EQ(status.message(),
            path_ +
                ": cannot open the trace: No such file or directory ; "
                "write the trace first or correct the path");
}

TEST_F(TraceReaderTest, RefusesADirectory) {
  const Status status = Trace::Open(directory_.path(), &trace_);
  EXPECT_EQ(status.code(), ExitCode::kBadInput);
  EXPECT_THAT(status.message(), HasSubstr("not a regular file"));
}

TEST_F(TraceReaderTest, RefusesBadMagic) {
  std::string contents = SmallTrace().Contents();
  contents[0] = 'X';
  ExpectRefused(WithHeaderChecksum(contents), "not a trace (bad magic)");
}

TEST_F(TraceReaderTest, RefusesAnotherVersion) {
  std::string contents = SmallTrace().Contents();
  leveldb::EncodeFixed32(&contents[8], 1);
  ExpectRefused(WithHeaderChecksum(contents),
                "trace version 1, this driver reads version 2");
}

TEST_F(TraceReaderTest, RefusesAnotherRecordSize) {
  std::string contents = SmallTrace().Contents();
  leveldb::EncodeFixed32(&contents[12], 24);
  ExpectRefused(WithHeaderChecksum(contents), "record size 24 instead of 16");
}

TEST_F(TraceReaderTest, RefusesATruncatedFile) {
  const std::string contents = SmallTrace().Contents();
  for (const size_t size : {contents.size() - 1, contents.size() - 16}) {
    ExpectRefused(contents.substr(0, size), "truncated trace");
  }
  ExpectRefused(contents.substr(0, 63), "do not hold the header");
  ExpectRefused("", "do not hold the header");
}

TEST_F(TraceReaderTest, RefusesBytesBehindTheRecords) {
  ExpectRefused(SmallTrace().Contents() + "x", "truncated trace");
}

TEST_F(TraceReaderTest, RefusesAFlippedBitAnywhere) {
  const std::string contents = SmallTrace().Contents();
  for (size_t i = 0; i < contents.size(); i++) {
    if (i >= 48 && i < 64) continue;  // The specification's hash, unchecked
    std::string flipped = contents;
    flipped[i] ^= 0x10;
    EXPECT_EQ(Open(flipped).code(), ExitCode::kBadInput) << "byte " << i;
  }
  std::string flipped = contents;
  flipped[64] ^= 1;
  ExpectRefused(flipped, "checksum mismatch in the records");
  flipped = contents;
  flipped[24] ^= 1;
  ExpectRefused(flipped, "checksum mismatch in the header");
}

TEST_F(TraceReaderTest, RefusesRecordsThatCannotBeReplayed) {
  TraceBuilder unknown;
  unknown.Add(static_cast<Operation>(7), 1);
  ExpectRefused(unknown.Contents(), "record 0 has the unknown operation 7");

  TraceBuilder long_value;
  long_value.Add(Operation::kRead, 1).Add(Operation::kInsert, 1, (1 << 20) + 1);
  ExpectRefused(long_value.Contents(), "record 1 has a value of 1048577 bytes");

  TraceBuilder no_value;
  no_value.Add(Operation::kUpdate, 0, 0);
  ExpectRefused(no_value.Contents(), "record 0 has a value of 0 bytes");

  std::string contents = SmallTrace().Contents();
  leveldb::EncodeFixed64(&contents[32], 9);
  ExpectRefused(WithHeaderChecksum(contents),
                "record 2 has the key number 9, not below the key count 9");
}

TEST_F(TraceReaderTest, ReportsAFileThatBecomesShorter) {
  ASSERT_TRUE(Open(SmallTrace().Contents()).ok());
  WriteText(path_, SmallTrace().Contents().substr(0, 80));
  TraceCursor cursor(trace_.get(), 0, 5);
  EXPECT_EQ(cursor.Next(), nullptr);
  EXPECT_THAT(cursor.status().message(), HasSubstr("the file became shorter"));
}

}  // namespace
}  // namespace recompact
