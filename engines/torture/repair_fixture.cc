#include "torture/repair_fixture.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/table.h"
#include "torture/file_type.h"
#include "torture/history.h"

namespace recompact {

namespace {

constexpr size_t kScript = 1500;      // operations
constexpr size_t kWritesAfter = 300;  // operations
constexpr size_t kSequenceBytes = 8;  // at the end of a key of a table
constexpr char kTableMagic[] = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";

class TableInMemory : public leveldb::RandomAccessFile {
 public:
  explicit TableInMemory(std::string bytes) : bytes_(std::move(bytes)) {}

  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* /*scratch*/) const override {
    if (offset > bytes_.size() || n > bytes_.size() - offset) {
      return leveldb::Status::Corruption("behind the end");
    }
    *result = leveldb::Slice(bytes_.data() + offset, n);
    return leveldb::Status::OK();
  }

 private:
  const std::string bytes_;
};

// The keys that a table has with their sequence numbers, as far as it can be
// read.
std::set<std::string> EntriesOf(const std::string& table_bytes) {
  const TableInMemory file(table_bytes);
  leveldb::Options options;
  options.paranoid_checks = true;
  leveldb::Table* opened = nullptr;
  leveldb::Table::Open(options, const_cast<TableInMemory*>(&file),
                       table_bytes.size(), &opened);
  const std::unique_ptr<leveldb::Table> table(opened);
  std::set<std::string> entries;
  if (table == nullptr) return entries;
  leveldb::ReadOptions reading;
  reading.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> iterator(
      table->NewIterator(reading));
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    entries.insert(iterator->key().ToString());
  }
  return entries;
}

// Where the tables of a file end: there may be several, one after the other.
std::vector<size_t> EndsOfTables(const std::string& file) {
  const std::string magic(kTableMagic, sizeof(kTableMagic) - 1);
  std::vector<size_t> ends;
  for (size_t at = 0; (at = file.find(magic, at)) != std::string::npos;) {
    at += magic.size();
    ends.push_back(at);
  }
  return ends;
}

std::string Text(const std::optional<std::string>& value) {
  return value ? value->substr(0, value->find(':')) : "nothing";
}

}  // namespace

std::vector<std::string> NamesOfType(const Files& files,
                                     const std::string& type) {
  std::vector<std::string> names;
  for (const auto& [name, data] : files) {
    if (FileTypeOf(name) == type && name.find("/lost/") == std::string::npos) {
      names.push_back(name);
    }
  }
  return names;
}

Files WithoutNotes(Files files) {
  for (auto file = files.begin(); file != files.end();) {
    file = FileTypeOf(file->first) == "other" ? files.erase(file)
                                              : std::next(file);
  }
  return files;
}

RepairFixture::RepairFixture()
    : operations_(GenerateWrites(flags.seed, kScript)) {
  uint64_t sequence = 0;
  for (size_t i = 0; i < operations_.size(); i++) {
    model_.Apply(operations_[i], i + 1);
    for (const KeyWrite& write : WritesOf(operations_[i])) {
      newest_[KeyOf(write.key)] = ++sequence;
      if (!write.deletes) {
        written_[KeyOf(write.key)].insert(
            ValueOf(write.key, i + 1, write.length));
      }
    }
  }
}

void RepairFixture::SetUp() {
  SimulatedEnv env(std::make_unique<SimulatedDisk>());
  const auto database = DatabaseOn(&env);
  ASSERT_TRUE(database->Open().ok());
  std::string rules;
  if (!(*database)->GetProperty("recompact.check", &rules)) {
    GTEST_SKIP() << "the unpatched release repairs as upstream has it";
  }
  // It begins with a number where only that of the levels is not upstream's.
  std::string format;
  (*database)->GetProperty("recompact.format", &format);
  has_own_format_ = !format.empty() && format.find_first_of("0123456789") != 0;
  for (size_t i = 0; i < operations_.size(); i++) {
    ASSERT_TRUE(WriteTo(database.get(), operations_[i], i + 1).ok());
  }
  database->Close();
  env.WaitIdle();
  files_ = FilesOf(env);
}

Files RepairFixture::FilesOf(const SimulatedEnv& env) {
  Files files;
  for (const auto& [name, file] : env.disk().directory()) {
    files[name] = file->data;
  }
  return files;
}

std::unique_ptr<SimulatedEnv> RepairFixture::EnvWith(const Files& files) const {
  auto disk = std::make_unique<SimulatedDisk>();
  for (const auto& [name, data] : files) disk->Create(name)->data = data;
  disk->SyncAll();
  return std::make_unique<SimulatedEnv>(std::move(disk));
}

std::string RepairFixture::DamageTable(Files* files, const std::string& name,
                                       std::mt19937_64* random) {
  std::string& data = (*files)[name];
  switch ((*random)() % 6) {
    case 0:
      files->erase(name);
      return name + " removed, ";
    case 1:
      data.clear();
      return name + " emptied, ";
    case 2:
      data.resize((*random)() % data.size());
      return name + " cut to " + std::to_string(data.size()) + " bytes, ";
    default: {
      std::string what = name + " flipped at";
      for (int i = 0; i < 2; i++) {
        // Half of them near the end, where there is more than data.
        const size_t from_end =
            (*random)() % ((*random)() % 2 == 0
                               ? data.size()
                               : std::min<size_t>(data.size(), 300));
        const size_t at = data.size() - 1 - from_end;
        data[at] ^= static_cast<char>(1 + (*random)() % 255);
        what += " " + std::to_string(at);
      }
      return what + ", ";
    }
  }
}

std::string RepairFixture::DamageCurrent(Files* files, unsigned way,
                                         std::mt19937_64* random) {
  const std::string name = std::string(kPath) + "/CURRENT";
  std::string& current = (*files)[name];
  switch (way) {
    case 0:
      files->erase(name);
      return "CURRENT removed";
    case 1:
      current.clear();
      return "CURRENT emptied";
    case 2:
      for (char& c : current) c = static_cast<char>((*random)());
      return "CURRENT garbled";
    case 3:
      current.pop_back();
      return "CURRENT without newline";
    case 4:
      current = "MANIFEST-999999\n";
      return "CURRENT names a MANIFEST that is not there";
    default: {
      const std::string table = NamesOfType(*files, "table").front();
      current = table.substr(table.rfind('/') + 1) + "\n";
      return "CURRENT names a table";
    }
  }
}

void RepairFixture::AddUncertain(const Files& damaged, const std::string& name,
                                 Uncertain* uncertain) const {
  Files without = files_;
  without.erase(name);
  const auto env = EnvWith(without);
  if (DatabaseOn(env.get())->Open().ok()) return;
  const std::string& before = files_.at(name);
  const auto found = damaged.find(name);
  const std::string after = found == damaged.end() ? "" : found->second;
  size_t begin = 0;
  for (const size_t end : EndsOfTables(before)) {
    const std::set<std::string> left =
        after.size() < end ? std::set<std::string>()
                           : EntriesOf(after.substr(begin, end - begin));
    for (const auto& entry : EntriesOf(before.substr(begin, end - begin))) {
      if (left.count(entry) > 0) continue;
      const size_t length = entry.size() - kSequenceBytes;
      uint64_t packed = 0;  // The type of the entry is the lowest byte
      for (size_t i = kSequenceBytes; i-- > 0;) {
        packed = packed << 8 | static_cast<unsigned char>(entry[length + i]);
      }
      const std::string key = entry.substr(0, length);
      if (newest_.at(key) == packed >> 8) uncertain->insert(key);
    }
    begin = end;
  }
}

std::string RepairFixture::JudgeRepaired(SimulatedEnv* env,
                                         const Uncertain& uncertain) const {
  const auto database = DatabaseOn(env);
  const leveldb::Status s = database->Open();
  if (!s.ok()) return "after OK it does not open: " + s.ToString();
  Answers answers;
  std::string wrong = ReadKeys(database.get(), uncertain, &answers);
  if (wrong.empty()) wrong = Differs(env, database.get(), answers);
  if (wrong.empty()) wrong = TakesWrites(env, database.get(), &answers);
  if (!wrong.empty()) return wrong;
  database->Close();
  if (!database->options()->Set("paranoid_checks", "true", &wrong)) {
    return wrong;
  }
  const leveldb::Status again = database->Open();
  if (!again.ok()) return "it does not open again: " + again.ToString();
  return Differs(env, database.get(), answers);
}

std::string RepairFixture::ReadKeys(Database* database,
                                    const Uncertain& uncertain,
                                    Answers* answers) const {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  for (uint32_t number = 0; number < kKeyCount; number++) {
    const std::string key = KeyOf(number);
    std::string value;
    const leveldb::Status s = (*database)->Get(options, key, &value);
    const std::string what = "get of key " + std::to_string(number);
    if (!s.ok() && !s.IsNotFound()) return what + ": " + s.ToString();
    std::optional<std::string>& answer = (*answers)[key];
    if (s.ok()) answer = value;
    const auto expected = model_.Get(key, operations_.size());
    if (answer == expected) continue;
    const bool may_be = !answer || (written_.count(key) > 0 &&
                                    written_.at(key).count(*answer) > 0);
    if (uncertain.count(key) == 0 || !may_be) {
      return what + " is " + Text(answer) + " instead of " + Text(expected) +
             (uncertain.count(key) == 0 ? "" : ", which nobody wrote");
    }
  }
  return "";
}

std::string RepairFixture::Differs(SimulatedEnv* env, Database* database,
                                   const Answers& answers) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  Answers scanned;
  {
    const std::unique_ptr<leveldb::Iterator> iterator(
        (*database)->NewIterator(options));
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      scanned[iterator->key().ToString()] = iterator->value().ToString();
    }
    if (!iterator->status().ok()) {
      return "a scan: " + iterator->status().ToString();
    }
  }
  for (const auto& [key, answer] : answers) {
    std::string value;
    const leveldb::Status s = (*database)->Get(options, key, &value);
    if (!s.ok() && !s.IsNotFound()) return "a get: " + s.ToString();
    const auto got = s.ok() ? std::optional(value) : std::nullopt;
    if (got != answer) {
      return "a get is " + Text(got) + " instead of " + Text(answer);
    }
    const auto found = scanned.find(key);
    const auto seen = found == scanned.end() ? std::nullopt : found->second;
    if (seen != answer) {
      return "a scan has " + Text(seen) + " instead of " + Text(answer);
    }
    scanned.erase(key);
  }
  if (!scanned.empty()) return "a scan has more";
  env->WaitIdle();
  std::string rules;
  (*database)->GetProperty("recompact.check", &rules);
  return rules;
}

std::string RepairFixture::TakesWrites(SimulatedEnv* env, Database* database,
                                       Answers* answers) const {
  uint64_t version = operations_.size();
  for (const Operation& operation :
       GenerateWrites(flags.seed + 1, kWritesAfter)) {
    const leveldb::Status s = WriteTo(database, operation, ++version);
    if (!s.ok()) return "a write: " + s.ToString();
    for (const KeyWrite& write : WritesOf(operation)) {
      std::optional<std::string>& answer = (*answers)[KeyOf(write.key)];
      answer.reset();
      if (!write.deletes) answer = ValueOf(write.key, version, write.length);
    }
  }
  (*database)->CompactRange(nullptr, nullptr);
  const std::string wrong = Differs(env, database, *answers);
  return wrong.empty() ? "" : "after CompactRange " + wrong;
}

}  // namespace recompact
