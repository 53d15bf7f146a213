#include "seams/table_parts.h"

#include <algorithm>

#include "db/table_cache.h"
#include "db/version_set.h"
#include "table/merger.h"
#include "table/two_level_iterator.h"
#include "util/coding.h"

namespace leveldb {

namespace {

// After every entry of the user key.
InternalKey LastOf(const Slice& user_key) {
  return InternalKey(user_key, 0, static_cast<ValueType>(0));
}

// Before every entry of the user key.
InternalKey FirstOf(const Slice& user_key) {
  return InternalKey(user_key, kMaxSequenceNumber, kValueTypeForSeek);
}

bool IsBeforeRange(const Comparator* user_comparator, const Slice& user_key,
                   const TablePart& part) {
  const int order = user_comparator->Compare(user_key, part.begin);
  return part.excludes_begin ? order <= 0 : order < 0;
}

bool IsAfterRange(const Comparator* user_comparator, const Slice& user_key,
                  const TablePart& part) {
  return user_comparator->Compare(user_key, part.end) > 0;
}

// The entries of a table that lie in the range of a part.
class PartIterator : public Iterator {
 public:
  PartIterator(const InternalKeyComparator& comparator, const TablePart& part,
               Iterator* table)
      : comparator_(comparator),
        begin_(part.Before()),
        end_(part.Last()),
        table_(table) {}

  bool Valid() const override { return valid_; }
  Slice key() const override { return table_->key(); }
  Slice value() const override { return table_->value(); }
  Status status() const override { return table_->status(); }

  void Seek(const Slice& target) override {
    if (comparator_.Compare(target, end_.Encode()) > 0) {
      valid_ = false;
      return;
    }
    const bool before = comparator_.Compare(target, begin_.Encode()) < 0;
    table_->Seek(before ? begin_.Encode() : target);
    SkipBegin();
  }
  void SeekToFirst() override {
    table_->Seek(begin_.Encode());
    SkipBegin();
  }
  void SeekToLast() override {
    table_->Seek(end_.Encode());
    if (!table_->Valid()) {
      table_->SeekToLast();
    } else if (comparator_.Compare(table_->key(), end_.Encode()) > 0) {
      table_->Prev();
    }
    CheckBegin();
  }
  void Next() override {
    table_->Next();
    CheckEnd();
  }
  void Prev() override {
    table_->Prev();
    CheckBegin();
  }

 private:
  // The place right after a user key can itself be that of an entry, one with
  // the sequence number 0.
  void SkipBegin() {
    if (table_->Valid() &&
        comparator_.Compare(table_->key(), begin_.Encode()) == 0) {
      table_->Next();
    }
    CheckEnd();
  }

  // Each way of moving can leave the range at one side only.
  void CheckBegin() {
    valid_ = table_->Valid() &&
             comparator_.Compare(table_->key(), begin_.Encode()) > 0;
  }
  void CheckEnd() {
    valid_ = table_->Valid() &&
             comparator_.Compare(table_->key(), end_.Encode()) <= 0;
  }

  const InternalKeyComparator comparator_;
  const InternalKey begin_;  // right before the first entry
  const InternalKey end_;    // at or after the last entry
  const std::unique_ptr<Iterator> table_;
  bool valid_ = false;
};

}  // namespace

bool TablePart::Covers(const Comparator* user_comparator,
                       const Slice& user_key) const {
  return !IsBeforeRange(user_comparator, user_key, *this) &&
         !IsAfterRange(user_comparator, user_key, *this);
}

InternalKey TablePart::Before() const {
  return excludes_begin ? LastOf(begin) : FirstOf(begin);
}

InternalKey TablePart::Last() const { return LastOf(end); }

PartList::PartList(VersionSet* versions,
                   const std::vector<FileMetaData*>& files,
                   std::vector<TablePart> newest_first)
    : versions_(versions), parts_(std::move(newest_first)) {
  const Comparator* const user_comparator = versions_->icmp_.user_comparator();
  InternalKey smallest, largest;
  if (!files.empty()) {
    versions_->GetRange(files, &smallest, &largest);
    range_.begin = smallest.user_key().ToString();
    range_.end = largest.user_key().ToString();
  } else {
    range_.begin = parts_[0].begin;
    range_.excludes_begin = parts_[0].excludes_begin;
    range_.end = parts_[0].end;
  }
  for (const TablePart& part : parts_) {
    part.table->refs++;
    range_.bytes += part.bytes;
    const int order = user_comparator->Compare(part.begin, range_.begin);
    if (order < 0 || (order == 0 && !part.excludes_begin)) {
      range_.begin = part.begin;
      range_.excludes_begin = part.excludes_begin;
    }
    if (user_comparator->Compare(part.end, range_.end) > 0) {
      range_.end = part.end;
    }
  }
  range_.age = parts_.back().age;
  // What parts have of a file's last user key is newer than what it has.
  const bool ends_with_file =
      !files.empty() &&
      user_comparator->Compare(largest.user_key(), range_.end) == 0;
  limit_ = ends_with_file ? largest : LastOf(range_.end);
}

PartList::~PartList() {
  for (const TablePart& part : parts_) {
    if (--part.table->refs == 0) versions_->DropFile(part.table);
  }
}

PartsBuilder::PartsBuilder(VersionSet* versions, const Version* base)
    : versions_(versions), base_(base) {}

PartsBuilder::~PartsBuilder() {
  for (const auto& [number, table] : tables_) {
    if (--table->refs == 0) versions_->DropFile(table);
  }
}

void PartsBuilder::Apply(const VersionEdit& edit) {
  for (const FileOfLevel& file : edit.deleted_files_) {
    changed_.erase(file);
    added_.erase(file);
    has_other_files_[file.first] = true;
  }
  for (const auto& [level, file] : edit.new_files_) {
    added_.insert({level, file.number});
    has_other_files_[level] = true;
  }
  for (const FileMetaData& held : edit.held_tables_) {
    FileMetaData*& table = tables_[held.number];
    if (table != nullptr) continue;
    table = new FileMetaData(held);
    table->refs = 1;
    versions_->metadata_of_table_[held.number]++;
  }
  for (const PartRecord& record : edit.new_parts_) {
    const auto table = tables_.find(record.table);
    if (table == tables_.end()) {
      status_ = Status::Corruption("part of a table that is not kept");
      return;
    }
    std::vector<TablePart>* const parts =
        &ChangeOf({record.level, record.file})->newest_first;
    TablePart part = record.part;
    part.table = table->second;
    parts->insert(parts->begin(), std::move(part));
    versions_->last_part_age_ =
        std::max(versions_->last_part_age_, record.part.age);
  }
}

PartsBuilder::Change* PartsBuilder::ChangeOf(const FileOfLevel& file) {
  const auto [change, is_new] = changed_.insert({file, {{}, kNowhere}});
  if (!is_new || added_.count(file) > 0) return &change->second;
  const auto& [level, number] = file;
  const std::vector<FileMetaData*>& files = base_->files_[level];
  for (size_t tried = 0; tried < files.size(); tried++) {
    // A link puts parts in front of neighbours, one after the other.
    if (++last_found_ >= files.size()) last_found_ = 0;
    if (files[last_found_]->number == number) {
      change->second.place = last_found_;
      const PartList* const parts = base_->PartsOf(level, last_found_);
      if (parts != nullptr) {
        change->second.newest_first = parts->newest_first();
      }
      break;
    }
  }
  return &change->second;
}

void PartsBuilder::CountParts(const PartList& list, int by) {
  for (const TablePart& part : list.newest_first()) {
    int& count = versions_->parts_of_table_[part.table->number];
    if (count == 0) versions_->held_bytes_ += part.table->file_size;
    count += by;
    if (count == 0) {
      versions_->held_bytes_ -= part.table->file_size;
      versions_->parts_of_table_.erase(part.table->number);
    }
  }
}

void PartsBuilder::Replace(std::vector<SharedList>* parts, size_t i,
                           SharedList list) {
  if (list != nullptr) CountParts(*list, +1);
  if ((*parts)[i] != nullptr) CountParts(*(*parts)[i], -1);
  (*parts)[i] = std::move(list);
}

void PartsBuilder::SaveTo(Version* v) {
  for (int level = 0; level < config::kNumLevels; level++) {
    const std::vector<FileMetaData*>& files = v->files_[level];
    const std::vector<FileMetaData*>& base_files = base_->files_[level];
    const std::vector<SharedList>& base_parts = base_->parts_[level];
    std::vector<SharedList>& parts = v->parts_[level];
    if (!has_other_files_[level]) {
      parts = base_parts;
    } else if (!base_parts.empty()) {
      // Both are in order, and share their metadata.
      parts.resize(files.size());
      size_t base = 0;
      for (size_t i = 0; i < files.size(); i++) {
        if (added_.count({level, files[i]->number}) > 0) continue;
        for (; base_files[base] != files[i]; base++) {
          if (base_parts[base] != nullptr) CountParts(*base_parts[base], -1);
        }
        parts[i] = base_parts[base++];
      }
      for (; base < base_files.size(); base++) {
        if (base_parts[base] != nullptr) CountParts(*base_parts[base], -1);
      }
    }
    auto change = changed_.lower_bound({level, 0});
    for (; change != changed_.end() && change->first.first == level; ++change) {
      size_t i = change->second.place;
      if (has_other_files_[level] || i == kNowhere) {
        for (i = 0; i < files.size(); i++) {
          if (files[i]->number == change->first.second) break;
        }
      }
      if (i == files.size()) {
        status_ = Status::Corruption(
            "part in front of a table that is not in "
            "its level");
        return;
      }
      if (parts.empty()) parts.resize(files.size());
      Replace(&parts, i,
              std::make_shared<const PartList>(
                  versions_, std::vector<FileMetaData*>{files[i]},
                  std::move(change->second.newest_first)));
    }
    const bool any = std::any_of(parts.begin(), parts.end(),
                                 [](const auto& p) { return p != nullptr; });
    if (!any) parts.clear();
  }
}

// Version ---------------------------------------------------------------------

const InternalKey& Version::LimitOf(int level, size_t i) const {
  const PartList* const parts = PartsOf(level, i);
  return parts == nullptr ? files_[level][i]->largest : parts->limit();
}

size_t Version::FindEntry(int level, const Slice& internal_key) const {
  if (parts_[level].empty()) {
    return FindFile(vset_->icmp_, files_[level], internal_key);
  }
  size_t left = 0;
  size_t right = files_[level].size();
  while (left < right) {
    const size_t middle = (left + right) / 2;
    const Slice limit = LimitOf(level, middle).Encode();
    if (vset_->icmp_.InternalKeyComparator::Compare(limit, internal_key) < 0) {
      left = middle + 1;
    } else {
      right = middle;
    }
  }
  return right;
}

bool Version::ForEachPart(int level, size_t i, const Slice& user_key, void* arg,
                          bool (*func)(void*, int, FileMetaData*)) const {
  const PartList* const parts = PartsOf(level, i);
  if (parts == nullptr) return true;
  const Comparator* const user_comparator = vset_->icmp_.user_comparator();
  for (const TablePart& part : parts->newest_first()) {
    if (part.Covers(user_comparator, user_key) &&
        !(*func)(arg, level, part.table)) {
      return false;
    }
  }
  return true;
}

bool Version::PartsOverlap(int level, const Slice* smallest_user_key,
                           const Slice* largest_user_key) const {
  if (parts_[level].empty()) return false;
  const Comparator* const user_comparator = vset_->icmp_.user_comparator();
  size_t i = smallest_user_key == nullptr
                 ? 0
                 : FindEntry(level, FirstOf(*smallest_user_key).Encode());
  for (; i < files_[level].size(); i++) {
    const PartList* const parts = PartsOf(level, i);
    if (parts != nullptr) {
      return largest_user_key == nullptr ||
             !IsBeforeRange(user_comparator, *largest_user_key, parts->range());
    }
    if (largest_user_key != nullptr &&
        user_comparator->Compare(files_[level][i]->smallest.user_key(),
                                 *largest_user_key) > 0) {
      break;
    }
  }
  return false;
}

bool Version::PartsMayHold(int level, const Slice& user_key) const {
  if (parts_[level].empty()) return false;
  const size_t i = FindEntry(level, FirstOf(user_key).Encode());
  const PartList* const parts =
      i < files_[level].size() ? PartsOf(level, i) : nullptr;
  return parts != nullptr &&
         parts->range().Covers(vset_->icmp_.user_comparator(), user_key);
}

uint64_t Version::BytesOfPartsBefore(int level, const InternalKey& key) const {
  const Comparator* const user_comparator = vset_->icmp_.user_comparator();
  uint64_t bytes = 0;
  for (const auto& parts : parts_[level]) {
    if (parts == nullptr) continue;
    for (const TablePart& part : parts->newest_first()) {
      if (IsBeforeRange(user_comparator, key.user_key(), part)) continue;
      if (IsAfterRange(user_comparator, key.user_key(), part)) {
        bytes += part.bytes;
        continue;
      }
      TablePart before = part;
      before.end = key.user_key().ToString();
      bytes += std::min(part.bytes, vset_->EstimateBytes(before));
    }
  }
  return bytes;
}

// The numbers of the files of a level; a key is the limit of a file and its
// parts, a value the number of the file in the level.
class Version::EntryNumIterator : public Iterator {
 public:
  EntryNumIterator(const Version* version, int level)
      : version_(version),
        level_(level),
        count_(version->files_[level].size()),
        index_(count_) {}

  bool Valid() const override { return index_ < count_; }
  void Seek(const Slice& target) override {
    index_ = version_->FindEntry(level_, target);
  }
  void SeekToFirst() override { index_ = 0; }
  void SeekToLast() override { index_ = count_ == 0 ? 0 : count_ - 1; }
  void Next() override { index_++; }
  void Prev() override { index_ = index_ == 0 ? count_ : index_ - 1; }
  Slice key() const override {
    return version_->LimitOf(level_, index_).Encode();
  }
  Slice value() const override {
    EncodeFixed32(value_, static_cast<uint32_t>(level_));
    EncodeFixed64(value_ + 4, index_);
    return Slice(value_, sizeof(value_));
  }
  Status status() const override { return Status::OK(); }

  static Iterator* Open(void* version, const ReadOptions& options,
                        const Slice& value) {
    const auto* const v = static_cast<const Version*>(version);
    const uint32_t level = DecodeFixed32(value.data());
    const uint64_t i = DecodeFixed64(value.data() + 4);
    TableCache* const tables = v->vset_->table_cache_;
    const FileMetaData& file = *v->files_[level][i];
    std::vector<Iterator*> sources;
    if (const PartList* const parts = v->PartsOf(level, i)) {
      for (const TablePart& part : parts->newest_first()) {
        sources.push_back(
            NewPartIterator(tables, v->vset_->icmp_, options, part));
      }
    }
    sources.push_back(
        tables->NewIterator(options, file.number, file.file_size));
    return NewMergingIterator(&v->vset_->icmp_, sources.data(),
                              static_cast<int>(sources.size()));
  }

 private:
  const Version* const version_;
  const int level_;
  const size_t count_;
  size_t index_;
  mutable char value_[12];
};

Iterator* Version::NewIteratorOverParts(const ReadOptions& options,
                                        int level) const {
  return NewTwoLevelIterator(new EntryNumIterator(this, level),
                             &EntryNumIterator::Open,
                             const_cast<Version*>(this), options);
}

uint64_t VersionSet::EstimateBytes(const TablePart& part) const {
  Table* table;
  const std::unique_ptr<Iterator> iterator(table_cache_->NewIterator(
      ReadOptions(), part.table->number, part.table->file_size, &table));
  if (table == nullptr) return 0;  // The error comes back when it is read
  const uint64_t begin = table->ApproximateOffsetOf(part.Before().Encode());
  const uint64_t end = IsAfterRange(icmp_.user_comparator(),
                                    part.table->largest.user_key(), part)
                           ? table->ApproximateOffsetOf(part.Last().Encode())
                           : part.table->file_size;
  return end > begin ? end - begin : 0;
}

Iterator* NewPartIterator(const InternalKeyComparator& comparator,
                          const TablePart& range, Iterator* source) {
  return new PartIterator(comparator, range, source);
}

Iterator* NewPartIterator(TableCache* tables,
                          const InternalKeyComparator& comparator,
                          const ReadOptions& options, const TablePart& part) {
  return NewPartIterator(
      comparator, part,
      tables->NewIterator(options, part.table->number, part.table->file_size));
}

// MANIFEST --------------------------------------------------------------------

void VersionEdit::HoldTable(const FileMetaData& table) {
  held_tables_.push_back(table);
}

void VersionEdit::AddPart(int level, uint64_t file, const TablePart& part) {
  new_parts_.push_back({level, file, part.table->number, part});
  new_parts_.back().part.table = nullptr;
}

void VersionEdit::EncodeParts(std::string* dst) const {
  for (const FileMetaData& f : held_tables_) {
    PutVarint32(dst, kHeldTableTag);
    PutVarint64(dst, f.number);
    PutVarint64(dst, f.file_size);
    PutLengthPrefixedSlice(dst, f.smallest.Encode());
    PutLengthPrefixedSlice(dst, f.largest.Encode());
  }
  for (const PartRecord& record : new_parts_) {
    PutVarint32(dst, kTablePartTag);
    PutVarint32(dst, static_cast<uint32_t>(record.level));
    PutVarint64(dst, record.file);
    PutVarint64(dst, record.table);
    PutLengthPrefixedSlice(dst, record.part.begin);
    PutVarint32(dst, record.part.excludes_begin ? 1 : 0);
    PutLengthPrefixedSlice(dst, record.part.end);
    PutVarint64(dst, record.part.bytes);
    PutVarint64(dst, record.part.age);
  }
}

bool VersionEdit::DecodePart(uint32_t tag, Slice* input) {
  Slice first, second;
  if (tag == kHeldTableTag) {
    FileMetaData f;
    if (!GetVarint64(input, &f.number) || !GetVarint64(input, &f.file_size) ||
        !GetLengthPrefixedSlice(input, &first) ||
        !GetLengthPrefixedSlice(input, &second) ||
        !f.smallest.DecodeFrom(first) || !f.largest.DecodeFrom(second)) {
      return false;
    }
    held_tables_.push_back(f);
    return true;
  }
  PartRecord record;
  uint32_t level, excludes_begin;
  if (tag != kTablePartTag || !GetVarint32(input, &level) ||
      level >= static_cast<uint32_t>(config::kNumLevels) ||
      !GetVarint64(input, &record.file) || !GetVarint64(input, &record.table) ||
      !GetLengthPrefixedSlice(input, &first) ||
      !GetVarint32(input, &excludes_begin) ||
      !GetLengthPrefixedSlice(input, &second) ||
      !GetVarint64(input, &record.part.bytes) ||
      !GetVarint64(input, &record.part.age)) {
    return false;
  }
  record.level = static_cast<int>(level);
  record.part.begin = first.ToString();
  record.part.excludes_begin = excludes_begin != 0;
  record.part.end = second.ToString();
  new_parts_.push_back(record);
  return true;
}

void VersionSet::AddParts(const Version& v, VersionEdit* edit) const {
  std::map<uint64_t, const FileMetaData*> tables;
  for (int level = 0; level < config::kNumLevels; level++) {
    for (size_t i = 0; i < v.parts_[level].size(); i++) {
      const PartList* const parts = v.PartsOf(level, i);
      if (parts == nullptr) continue;
      const std::vector<TablePart>& newest_first = parts->newest_first();
      for (auto part = newest_first.rbegin(); part != newest_first.rend();
           ++part) {
        tables[part->table->number] = part->table;
        edit->AddPart(level, v.files_[level][i]->number, *part);
      }
    }
  }
  for (const auto& [number, table] : tables) edit->HoldTable(*table);
}

}  // namespace leveldb
