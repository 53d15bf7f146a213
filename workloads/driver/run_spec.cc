#include "driver/run_spec.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include "driver/build_identity.h"
#include "driver/file_placement.h"
#include "driver/json_object.h"

namespace recompact {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

// Options travel to the engine as texts.
std::string OptionText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Status ReadEngine(const Json& value, const std::string& where, RunSpec* spec) {
  JsonObject engine(value, where);
  engine.Take("id", &spec->engine_id);
  if (const Json* const options = engine.Take("options")) {
    if (!options->is_object()) engine.Fail("options", "must be an object");
    for (const auto& option : options->items()) {
      if (option.value().is_structured() || option.value().is_null()) {
        engine.Fail("options." + option.key(),
                    "must be a number, a text, true or false");
      }
      spec->engine_options[option.key()] = OptionText(option.value());
    }
  }
  if (engine.Has("direct_io")) engine.Take("direct_io", &spec->direct_io);
  return engine.Finish();
}

void ReadBandwidths(JsonObject* object, DeviceParameters* device) {
  object->TakePositive("read_bandwidth_mb_s", &device->read_bandwidth_mb_s);
  object->TakePositive("write_bandwidth_mb_s", &device->write_bandwidth_mb_s);
}

void ReadSsd(JsonObject* object, DeviceParameters* device) {
  ReadBandwidths(object, device);
  object->TakeNotNegative("read_latency_us", &device->read_latency_us);
  object->TakeNotNegative("write_latency_us", &device->write_latency_us);
  object->Take("channels", 1, &device->channels);
  object->Take("half_duplex", &device->half_duplex);
}

void ReadThrottled(JsonObject* object, DeviceParameters* device) {
  ReadBandwidths(object, device);
  object->TakePositive("read_iops", &device->read_iops);
  object->TakePositive("write_iops", &device->write_iops);
  object->TakePositive("slice_ms", &device->slice_ms);
}

void ReadHdd(JsonObject* object, DeviceParameters* device) {
  ReadBandwidths(object, device);
  object->TakeNotNegative("read_seek_ms", &device->read_seek_ms);
  object->TakeNotNegative("write_seek_ms", &device->write_seek_ms);
  object->TakePositive("rotation_rpm", &device->rotation_rpm);
}

void ReadBands(JsonObject* object, DeviceParameters* device) {
  constexpr uint64_t kBlock = FilePlacement::kBlockBytes;
  object->Take("band_bytes", &device->band_bytes);
  if (device->band_bytes == 0 || device->band_bytes % kBlock != 0) {
    object->Fail("band_bytes",
                 "must be a multiple of " + std::to_string(kBlock));
  }
}

void ReadSmr(JsonObject* object, DeviceParameters* device) {
  ReadHdd(object, device);
  ReadBands(object, device);
  object->Take("media_cache_bytes", &device->media_cache_bytes);
  if (device->media_cache_bytes < device->band_bytes) {
    object->Fail("media_cache_bytes", "must be at least band_bytes, " +
                                          std::to_string(device->band_bytes));
  }
  object->TakeNotNegative("clean_after_idle_ms", &device->clean_after_idle_ms);
  if (object->Has("own_bands")) object->Take("own_bands", &device->own_bands);
}

void ReadKind(JsonObject* object, DeviceParameters* device);

void ReadRaid0(JsonObject* object, DeviceParameters* device) {
  object->Take("members", 1, &device->members);
  object->Take("chunk_bytes", &device->chunk_bytes);
  if (device->chunk_bytes == 0) object->Fail("chunk_bytes", "must be above 0");
  const Json* const value = object->Take("member");
  if (value == nullptr) return;
  JsonObject member_object(*value, object->Where("member"));
  auto member = std::make_shared<DeviceParameters>();
  ReadKind(&member_object, member.get());
  if (member->kind != DeviceKind::kSsd && member->kind != DeviceKind::kHdd) {
    member_object.Fail("kind", "must be ssd or hdd");
  }
  object->Fail(member_object.Finish());
  device->member = std::move(member);
}

void ReadKind(JsonObject* object, DeviceParameters* device) {
  std::string kind;
  object->Take("kind", &kind);
  if (kind == "memory") {
    device->kind = DeviceKind::kMemory;
  } else if (kind == "path") {
    device->kind = DeviceKind::kPath;
  } else if (kind == "ssd") {
    device->kind = DeviceKind::kSsd;
    ReadSsd(object, device);
  } else if (kind == "hdd") {
    device->kind = DeviceKind::kHdd;
    ReadHdd(object, device);
  } else if (kind == "smr") {
    device->kind = DeviceKind::kSmr;
    ReadSmr(object, device);
  } else if (kind == "zoned_smr") {
    device->kind = DeviceKind::kZonedSmr;
    ReadHdd(object, device);
    ReadBands(object, device);
  } else if (kind == "raid0") {
    device->kind = DeviceKind::kRaid0;
    ReadRaid0(object, device);
  } else if (kind == "throttled") {
    device->kind = DeviceKind::kThrottled;
    ReadThrottled(object, device);
  } else {
    object->Fail("kind",
                 "must be memory, path, ssd, hdd, smr, zoned_smr, raid0 or "
                 "throttled");
  }
}

void ReadMounts(JsonObject* object, DeviceParameters* device) {
  const Json* const mounts = object->Take("mounts");
  if (mounts == nullptr) return;
  if (!mounts->is_array() || mounts->empty()) {
    return object->Fail("mounts", "must be a list of at least one directory");
  }
  std::vector<std::filesystem::path> places;
  for (const Json& mount : *mounts) {
    const std::string key = "mounts[" + std::to_string(places.size()) + "]";
    if (!mount.is_string() || mount.get<std::string>().empty()) {
      return object->Fail(key, "must be a directory");
    }
    device->mounts.push_back(mount.get<std::string>());
    const std::string quoted = "\"" + device->mounts.back() + "\"";
    if (device->kind != DeviceKind::kPath) {
      return object->Fail(key, quoted + " needs a device of kind path");
    }
    // One directory may have several names.
    std::error_code ignored;
    auto place = std::filesystem::weakly_canonical(device->mounts.back() + "/.",
                                                   ignored);
    if (std::find(places.begin(), places.end(), place) != places.end()) {
      return object->Fail(key, quoted + " is named twice");
    }
    places.push_back(std::move(place));
  }
}

Status ReadDevice(const Json& value, const std::string& where,
                  DeviceParameters* device) {
  JsonObject object(value, where);
  object.Take("id", &device->id);
  ReadKind(&object, device);
  if (device->modelled()) {
    object.Take("read_ahead_bytes", &device->read_ahead_bytes);
    object.Take("writeback_bytes", &device->writeback_bytes);
    object.Take("dirty_limit_bytes", &device->dirty_limit_bytes);
    object.Take("page_cache_bytes", &device->page_cache_bytes);
    object.TakeNotNegative("sync_latency_us", &device->sync_latency_us);
  }
  if (object.Has("mounts")) ReadMounts(&object, device);
  object.Ignore("title");
  object.Ignore("source");
  return object.Finish();
}

SimTime ToSimTime(double ns) {
  return static_cast<SimTime>(std::llround(ns * kPicosPerNano));
}

// The cost of each kind of work that costs anything, in nanoseconds.
Status ReadCosts(const Json& value, const std::string& where,
                 std::array<SimTime, kWorkKinds>* costs) {
  JsonObject object(value, where);
  for (int i = 0; i < kWorkKinds; i++) {
    double ns = 0;
    if (object.Has(kWorkNames[i])) object.TakeNotNegative(kWorkNames[i], &ns);
    (*costs)[i] = ToSimTime(ns);
  }
  return object.Finish();
}

// Costs are those of one engine, compiler and set of libraries, which change
// what is counted.
void CheckCalibration(const Json& value, const std::string& engine,
                      JsonObject* host) {
  JsonObject object(value, host->Where("calibration"));
  std::string calibrated, compiler;
  object.Take("engine", &calibrated);
  object.Ignore("machine");
  object.Take("compiler", &compiler);
  const Json* const libraries = object.Take("libraries");
  host->Fail(object.Finish());
  if (libraries == nullptr) return;
  const auto check = [&](const std::string& key, const std::string& theirs,
                         const std::string& ours) {
    if (theirs == ours) return;
    host->Fail(Status::BadInput(
        host->Where("calibration." + key),
        "is of " + theirs + ", and this driver of " + ours,
        "measure its costs with ./repro calibrate --engine " + engine));
  };
  check("engine", calibrated, engine);
  check("compiler", compiler, kCompiler);
  check("libraries", libraries->dump(), Json(LibraryVersions()).dump());
}

Status ReadHost(const Json& value, const std::string& where,
                const std::string& engine, Simulation::Host* host) {
  JsonObject object(value, where);
  object.Ignore("id");
  if (const Json* const calibration = object.Take("calibration")) {
    CheckCalibration(*calibration, engine, &object);
  }
  double slice_us = 0, granularity_us = 0, switch_ns = 0, wake_ns = 0;
  std::string ties;
  object.Take("processors", 1, &host->processors.count);
  object.TakePositive("slice_us", &slice_us);
  object.TakeNotNegative("wake_up_granularity_us", &granularity_us);
  object.TakeNotNegative("switch_ns", &switch_ns);
  object.TakeNotNegative("wake_ns", &wake_ns);
  object.Take("ties", &ties);
  if (ties != "lower" && ties != "higher") {
    object.Fail("ties", "must be lower or higher");
  }
  host->processors.slice = ToSimTime(slice_us * 1e3);
  host->processors.wake_up_granularity = ToSimTime(granularity_us * 1e3);
  host->processors.switch_cost = ToSimTime(switch_ns);
  host->processors.wake_cost = ToSimTime(wake_ns);
  host->processors.ties_to_higher = ties == "higher";
  if (const Json* const costs = object.Take("costs_ns")) {
    JsonObject roles(*costs, object.Where("costs_ns"));
    for (const Role role : {Role::kClient, Role::kBackground}) {
      const int i = static_cast<int>(role);
      const Json* const of_role = roles.Take(kRoleNames[i]);
      if (of_role == nullptr) continue;
      roles.Fail(
          ReadCosts(*of_role, roles.Where(kRoleNames[i]), &host->costs[i]));
    }
    object.Fail(roles.Finish());
  }
  return object.Finish();
}

Status ReadPace(const Json& value, const std::string& where, Stream* stream) {
  JsonObject pace(value, where);
  std::string kind;
  pace.Take("kind", &kind);
  if (kind == "open") {
    pace.TakePositive("rate_ops_s", &stream->rate_ops_s);
  } else if (kind != "closed") {
    pace.Fail("kind", "must be closed or open");
  }
  return pace.Finish();
}

// The name becomes part of a file's name.
void CheckName(JsonObject* object, const std::string& name) {
  if (name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") !=
          std::string::npos) {
    object->Fail("name", "must be made of a-z, 0-9 and _");
  }
}

void ReadStream(JsonObject* object, Stream* stream) {
  object->Ignore("workload");  // The trace says it
  object->Take("trace", &stream->trace);
  object->Take("start", &stream->start);
  if (const Json* const count = object->Take("count")) {
    if (count->is_number_unsigned()) {
      stream->count = count->get<uint64_t>();
    } else if (!count->is_null()) {
      object->Fail("count", "must be null or a whole number, not negative");
    }
  }
  if (const Json* const pace = object->Take("pace")) {
    object->Fail(ReadPace(*pace, object->Where("pace"), stream));
  }
  object->Take("threads", 1, &stream->threads);
}

Status ReadBeside(const Json& value, const std::string& where, Phase* phase) {
  if (!value.is_array() || value.empty()) {
    return Status::BadInput(where, "must be a list of at least one stream",
                            "correct the specification");
  }
  for (size_t i = 0; i < value.size(); i++) {
    Stream stream;
    stream.where = where + "[" + std::to_string(i) + "]";
    JsonObject object(value[i], stream.where);
    object.Take("name", &stream.name);
    CheckName(&object, stream.name);
    for (const Stream& other : phase->streams) {
      if (other.name == stream.name) {
        object.Fail("name", "\"" + stream.name + "\" is used twice");
      }
    }
    ReadStream(&object, &stream);
    Status status = object.Finish();
    if (!status.ok()) return status;
    phase->streams.push_back(std::move(stream));
  }
  return Status::OK();
}

void ReadReplay(JsonObject* object, const std::string& where, Phase* phase) {
  Stream own;
  own.where = where;
  own.name = phase->name;
  ReadStream(object, &own);
  phase->streams.push_back(std::move(own));
  object->Take("warmup_operations", &phase->warmup_operations);
  if (object->Has("duration_s")) {
    object->TakePositive("duration_s", &phase->duration_s);
  }
  if (object->Has("beside")) {
    object->Fail(
        ReadBeside(*object->Take("beside"), object->Where("beside"), phase));
  }
  if (phase->warmup_operations > 0 &&
      (phase->duration_s > 0 || phase->streams.size() > 1)) {
    object->Fail("warmup_operations",
                 "must be 0 with duration_s or beside, where a phase of its "
                 "own warms up");
  }
}

Status ReadPhase(const Json& value, const std::string& where, Phase* phase) {
  JsonObject object(value, where);
  object.Take("name", &phase->name);
  object.Take("kind", &phase->kind_name);
  CheckName(&object, phase->name);
  if (phase->kind_name == "replay") {
    phase->kind = Phase::Kind::kReplay;
    ReadReplay(&object, where, phase);
  } else if (phase->kind_name == "wait_idle") {
    phase->kind = Phase::Kind::kWaitIdle;
  } else if (phase->kind_name == "wait") {
    phase->kind = Phase::Kind::kWait;
    object.TakePositive("seconds", &phase->seconds);
  } else if (phase->kind_name == "compact_range") {
    phase->kind = Phase::Kind::kCompactRange;
  } else if (phase->kind_name == "reopen") {
    phase->kind = Phase::Kind::kReopen;
  } else {
    object.Fail("kind",
                "must be replay, wait_idle, wait, compact_range or reopen");
  }
  return object.Finish();
}

Status ReadPhases(const Json& value, const std::string& where, RunSpec* spec) {
  if (!value.is_array() || value.empty()) {
    return Status::BadInput(where, "must be a list of at least one phase",
                            "correct the specification");
  }
  for (size_t i = 0; i < value.size(); i++) {
    const std::string place = where + "[" + std::to_string(i) + "]";
    Phase phase;
    Status status = ReadPhase(value[i], place, &phase);
    if (!status.ok()) return status;
    for (const Phase& other : spec->phases) {
      if (other.name == phase.name) {
        return Status::BadInput(place + ".name",
                                "\"" + phase.name + "\" is used twice",
                                "correct the specification");
      }
    }
    spec->phases.push_back(std::move(phase));
  }
  return Status::OK();
}

Status ReadStartFrom(const Json& value, const std::string& where,
                     RunSpec* spec) {
  JsonObject object(value, where);
  StartFrom start;
  object.Take("run", &start.run);
  object.Take("database", &start.database);
  if (const Json* const traces = object.Take("traces")) {
    if (!traces->is_array()) object.Fail("traces", "must be a list of paths");
    for (const Json& trace : *traces) {
      if (!trace.is_string()) {
        object.Fail("traces", "must be a list of paths");
        break;
      }
      start.traces.push_back(trace.get<std::string>());
    }
  }
  spec->start_from = std::move(start);
  return object.Finish();
}

Status ReadRecentKeys(const Json& value, const std::string& where,
                      KeyRange* range) {
  JsonObject object(value, where);
  object.Take("first", &range->first);
  object.Take("count", &range->count);
  if (range->count == 0) object.Fail("count", "must be above 0");
  return object.Finish();
}

void ReadRecords(JsonObject* object, RunSpec* spec) {
  std::string order;
  object->Take("seed", &spec->keys.seed);
  object->TakePositive("compressibility", &spec->compressibility);
  if (spec->compressibility > 1) {
    object->Fail("compressibility", "must be at most 1");
  }
  object->Take("key_order", &order);
  if (order == "ordered") {
    spec->keys.order = KeyOrder::kOrdered;
  } else if (order != "hashed") {
    object->Fail("key_order", "must be hashed or ordered");
  }
  object->Take("value_checks", &spec->value_checks);
}

Status ReadDocument(RunSpec* spec) {
  JsonObject object(spec->document, spec->path);
  int schema = kSchema;
  object.Take("schema", 0, &schema);
  if (schema != kSchema) {
    object.Fail("schema", "is " + std::to_string(schema) +
                              ", this driver reads " + std::to_string(kSchema));
  }
  object.Take("run", &spec->run);
  if (spec->run.size() != 16 ||
      spec->run.find_first_not_of("0123456789abcdef") != std::string::npos) {
    object.Fail("run", "must be 16 hexadecimal digits");
  }
  if (const Json* const engine = object.Take("engine")) {
    object.Fail(ReadEngine(*engine, object.Where("engine"), spec));
  }
  if (const Json* const device = object.Take("device")) {
    object.Fail(ReadDevice(*device, object.Where("device"), &spec->device));
  }
  if (object.Has("host")) {
    object.Fail(ReadHost(*object.Take("host"), object.Where("host"),
                         spec->engine_id, &spec->host.emplace()));
    if (spec->device.kind == DeviceKind::kPath) {
      object.Fail("device.kind",
                  "is path, a real directory, which a simulated host does not "
                  "have");
    }
    if (object.Has("profile")) {
      object.Fail("profile", "goes with a real host: perf sees its time");
    }
  }
  object.TakePositive("scale_factor", &spec->scale_factor);
  ReadRecords(&object, spec);
  object.Take("timeline_interval_ms", 1, &spec->timeline_interval_ms);
  const Json* const start_from = object.Take("start_from");
  if (start_from != nullptr && !start_from->is_null()) {
    object.Fail(ReadStartFrom(*start_from, object.Where("start_from"), spec));
  }
  object.Take("keep_database", &spec->keep_database);
  if (object.Has("recent_keys")) {
    object.Fail(ReadRecentKeys(*object.Take("recent_keys"),
                               object.Where("recent_keys"),
                               &spec->recent_keys));
  }
  // What else tells one run from another.
  for (const char* name :
       {"repetition", "copy", "profile", "processors", "runtime", "commit"}) {
    object.Ignore(name);
  }
  if (const Json* const phases = object.Take("phases")) {
    object.Fail(ReadPhases(*phases, object.Where("phases"), spec));
  }
  for (const Phase& phase : spec->phases) {
    const bool is_cut = phase.duration_s > 0 || phase.streams.size() > 1;
    if (spec->keep_database && is_cut) {
      object.Fail("keep_database",
                  "must be false: the traces do not tell what phase " +
                      phase.name + " wrote of them");
    }
  }
  return object.Finish();
}

}  // namespace

Status ReadRunSpec(const std::string& path, RunSpec* spec) {
  spec->path = path;
  std::ifstream file(path);
  if (!file) {
    return Status::BadInput(path, "cannot open the specification",
                            "correct --spec");
  }
  spec->document = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (spec->document.is_discarded()) {
    return Status::BadInput(path, "is not JSON", "correct the specification");
  }
  return ReadDocument(spec);
}

}  // namespace recompact
