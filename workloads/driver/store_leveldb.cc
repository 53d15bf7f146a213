#include "driver/store_leveldb.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "leveldb/db.h"
#include "leveldb/iterator.h"
#include "leveldb/write_batch.h"
#include "seams/engine_options.h"

namespace recompact {

namespace {

leveldb::Slice ToSlice(std::string_view text) {
  return leveldb::Slice(text.data(), text.size());
}

class LevelDbStore : public Store {
 public:
  LevelDbStore(std::string path, DeviceEnv* env)
      : path_(std::move(path)), env_(env), options_(EngineOptions::New(env)) {}

  Status SetOptions(const std::map<std::string, std::string>& options,
                    const std::string& event_log_path,
                    const std::string& where);
  Status Open();

  Status Put(std::string_view key, std::string_view value) override;
  Status Delete(std::string_view key) override;
  Status Get(std::string_view key, std::string* value, bool* found) override;
  Status Scan(std::string_view key, uint32_t count,
              ScannedRecords* records) override;
  bool Idle() override;
  void CompactAll() override;
  Status Health() override;
  bool Property(const std::string& name, std::string* value) override;
  Status Reopen() override;

 private:
  Status Write(leveldb::WriteBatch* batch);
  Status ErrorOf(const std::string& text) const;
  Status ToStatus(const leveldb::Status& s) const;

  const std::string path_;
  DeviceEnv* const env_;
  const std::unique_ptr<EngineOptions> options_;
  std::unique_ptr<leveldb::DB> db_;
};

Status LevelDbStore::SetOptions(
    const std::map<std::string, std::string>& options,
    const std::string& event_log_path, const std::string& where) {
  std::string error;
  for (const auto& [name, value] : options) {
    if (!options_->Set(name, value, &error)) {
      return Status::BadInput(where + ": engine.options." + name, error,
                              "correct the options of this engine");
    }
  }
  if (!event_log_path.empty()) {
    // Engines without an event log do not know the option.
    options_->Set("event_log_path", event_log_path, &error);
  }
  return Status::OK();
}

Status LevelDbStore::Open() {
  leveldb::DB* db = nullptr;
  const leveldb::Status s = options_->Open(path_, &db);
  db_.reset(db);
  return ToStatus(s);
}

Status LevelDbStore::ErrorOf(const std::string& text) const {
  // A quota or a limit on the size of files is as final as a full disk.
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    if (text.find(std::strerror(error)) != std::string::npos) {
      return Status(ExitCode::kNoSpace, path_, text,
                    "free space or give --data-dir a larger file system");
    }
  }
  if (text.find(std::strerror(EMFILE)) != std::string::npos) {
    return Status::Failed(path_, text,
                          "raise the limit of open files or lower "
                          "engine.options.max_open_files");
  }
  return Status::Failed(path_, "the engine reports: " + text,
                        "run again; if it stays, report the engine");
}

Status LevelDbStore::ToStatus(const leveldb::Status& s) const {
  return s.ok() ? Status::OK() : ErrorOf(s.ToString());
}

Status LevelDbStore::Write(leveldb::WriteBatch* batch) {
  return ToStatus(db_->Write(leveldb::WriteOptions(), batch));
}

Status LevelDbStore::Put(std::string_view key, std::string_view value) {
  thread_local leveldb::WriteBatch batch;  // Keeps its memory
  batch.Clear();
  batch.Put(ToSlice(key), ToSlice(value));
  return Write(&batch);
}

Status LevelDbStore::Delete(std::string_view key) {
  leveldb::WriteBatch batch;
  batch.Delete(ToSlice(key));
  return Write(&batch);
}

Status LevelDbStore::Get(std::string_view key, std::string* value,
                         bool* found) {
  const leveldb::Status s =
      db_->Get(leveldb::ReadOptions(), ToSlice(key), value);
  *found = s.ok();
  return s.IsNotFound() ? Status::OK() : ToStatus(s);
}

Status LevelDbStore::Scan(std::string_view key, uint32_t count,
                          ScannedRecords* records) {
  const std::unique_ptr<leveldb::Iterator> iterator(
      db_->NewIterator(leveldb::ReadOptions()));
  records->Clear();
  for (iterator->Seek(ToSlice(key));
       records->size() < count && iterator->Valid();) {
    const leveldb::Slice k = iterator->key(), v = iterator->value();
    records->Add({k.data(), k.size()}, {v.data(), v.size()});
    if (records->size() < count) iterator->Next();
  }
  return ToStatus(iterator->status());
}

bool LevelDbStore::Idle() {
  std::string idle;
  if (db_->GetProperty("recompact.idle", &idle)) return idle == "1";
  // LevelDB schedules the next compaction before the last one's call returns.
  return env_->BackgroundIdle();
}

void LevelDbStore::CompactAll() { db_->CompactRange(nullptr, nullptr); }

Status LevelDbStore::Health() {
  const std::string error = env_->FirstWriteError();
  return error.empty() ? Status::OK() : ErrorOf(error);
}

bool LevelDbStore::Property(const std::string& name, std::string* value) {
  return db_->GetProperty(name, value);
}

Status LevelDbStore::Reopen() {
  db_.reset();
  return Open();
}

}  // namespace

Status OpenLevelDbStore(const std::string& path,
                        const std::map<std::string, std::string>& options,
                        const std::string& event_log_path,
                        const std::string& where, DeviceEnv* env,
                        std::unique_ptr<Store>* store) {
  auto opened = std::make_unique<LevelDbStore>(path, env);
  Status status = opened->SetOptions(options, event_log_path, where);
  if (status.ok()) status = opened->Open();
  if (status.ok()) *store = std::move(opened);
  return status;
}

}  // namespace recompact
