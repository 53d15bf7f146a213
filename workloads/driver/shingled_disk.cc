#include "driver/shingled_disk.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include "driver/file_placement.h"

namespace recompact {

namespace {

// Where the media cache begins: behind everything that a file can have.
constexpr uint64_t kCacheAddress = uint64_t{1} << 61;

// Calls visit(address, length) for what a range has of each band.
template <typename Visit>
void ForEachBand(uint64_t band_bytes, uint64_t address, uint64_t length,
                 Visit visit) {
  const uint64_t end = address + length;
  while (address < end) {
    const uint64_t stop =
        std::min(end, (address / band_bytes + 1) * band_bytes);
    visit(address, stop - address);
    address = stop;
  }
}

}  // namespace

ShingledDisk::ShingledDisk(const DeviceParameters& parameters)
    : parameters_(parameters), arm_(parameters) {
  assert(parameters.band_bytes > 0);
  assert(parameters.media_cache_bytes >= parameters.band_bytes);
}

int64_t ShingledDisk::Submit(int64_t now_ns, const Request& request) {
  Advance(now_ns);
  int64_t completion_ns = now_ns;
  if (request.direction == Request::kRead) {
    completion_ns = Read(now_ns, request);
  } else {
    ForEachBand(parameters_.band_bytes, request.address, request.length,
                [&](uint64_t address, uint64_t length) {
                  Request part = request;
                  part.address = address;
                  part.length = length;
                  completion_ns = std::max(completion_ns, Write(now_ns, part));
                });
  }
  host_done_ns_ = arm_.free_ns();
  return completion_ns;
}

int64_t ShingledDisk::QueueNs(int64_t now_ns) const {
  return arm_.QueueNs(now_ns);
}

void ShingledDisk::Advance(int64_t now_ns) {
  const int64_t idle_ns = std::llround(parameters_.clean_after_idle_ms * 1e6);
  const int64_t begin_ns = host_done_ns_ + idle_ns;
  while (!log_.empty() && std::max(begin_ns, arm_.free_ns()) < now_ns) {
    Clean(std::max(begin_ns, arm_.free_ns()));
  }
}

void ShingledDisk::Hold(uint64_t address, uint64_t length) {
  ForEachBand(parameters_.band_bytes, address, length,
              [this](uint64_t part, uint64_t part_length) {
                if (Append(part, part_length)) return;
                // Cleaned long ago
                Band& band = bands_[part / parameters_.band_bytes];
                RemovePieces(part, part + part_length);
                band.write_pointer =
                    std::max(band.write_pointer,
                             part % parameters_.band_bytes + part_length);
              });
}

void ShingledDisk::Discard(uint64_t address, uint64_t length) {
  ForEachBand(parameters_.band_bytes, address, length,
              [this](uint64_t part, uint64_t part_length) {
                Band& band = bands_[part / parameters_.band_bytes];
                assert(band.live_bytes >= part_length);
                band.live_bytes -= part_length;
              });
}

std::optional<CleaningCounters> ShingledDisk::Cleaning() const {
  return cleaning_;
}

int64_t ShingledDisk::Read(int64_t now_ns, const Request& request) {
  const uint64_t end = request.address + request.length;
  int64_t completion_ns = now_ns;
  auto piece = pieces_.upper_bound(request.address);
  if (piece != pieces_.begin()) --piece;
  for (uint64_t at = request.address; at < end;) {
    while (piece != pieces_.end() &&
           piece->first + piece->second.length <= at) {
      ++piece;
    }
    Request part = request;
    part.address = at;
    uint64_t stop = end;
    if (piece != pieces_.end() && piece->first <= at) {
      part.address = CacheAddress(piece->second.position + at - piece->first);
      stop = std::min(end, piece->first + piece->second.length);
    } else if (piece != pieces_.end()) {
      stop = std::min(end, piece->first);
    }
    part.length = stop - at;
    completion_ns =
        std::max(completion_ns, arm_.Serve(now_ns, part, part.ShareOfUnit()));
    at = stop;
  }
  return completion_ns;
}

int64_t ShingledDisk::Write(int64_t now_ns, Request request) {
  if (!Append(request.address, request.length)) {
    // A log has room behind its end for what its oldest piece leaves.
    while (!log_.empty() && log_end_ + request.length - log_.begin()->first >
                                parameters_.media_cache_bytes) {
      now_ns = Clean(now_ns);
    }
    RemovePieces(request.address, request.address + request.length);
    AddPiece(request.address, {request.length, log_end_});
    request.address = CacheAddress(log_end_);
    log_end_ += request.length;
  }
  return arm_.Serve(now_ns, request, request.ShareOfUnit());
}

bool ShingledDisk::Append(uint64_t address, uint64_t length) {
  constexpr uint64_t kBlock = FilePlacement::kBlockBytes;
  const uint64_t offset = address % parameters_.band_bytes;
  const uint64_t begin = address - offset;
  Band& band = bands_[begin / parameters_.band_bytes];
  if (offset == 0 && band.live_bytes == 0) {
    RemovePieces(begin, begin + parameters_.band_bytes);
    band.write_pointer = 0;
  }
  band.live_bytes += length;
  const uint64_t next_block =
      (band.write_pointer + kBlock - 1) / kBlock * kBlock;
  if (offset < band.write_pointer || offset > next_block) return false;
  RemovePieces(address, address + length);
  band.write_pointer = offset + length;
  return true;
}

int64_t ShingledDisk::Clean(int64_t now_ns) {
  const uint64_t number = log_.begin()->second / parameters_.band_bytes;
  const uint64_t begin = number * parameters_.band_bytes;
  const uint64_t end = begin + parameters_.band_bytes;
  Band& band = bands_[number];
  const auto serve = [&](Request::Direction direction, uint64_t address,
                         uint64_t length) {
    if (length == 0) return;
    arm_.Serve(now_ns, {direction, Request::kStream, address, length, 0},
               parameters_.cleaning_share);
    (direction == Request::kRead ? cleaning_.read_bytes
                                 : cleaning_.write_bytes) += length;
  };
  serve(Request::kRead, begin, band.write_pointer);
  for (auto piece = pieces_.lower_bound(begin);
       piece != pieces_.end() && piece->first < end; ++piece) {
    const auto& [address, cached] = *piece;
    serve(Request::kRead, CacheAddress(cached.position), cached.length);
    band.write_pointer =
        std::max(band.write_pointer, address + cached.length - begin);
  }
  RemovePieces(begin, end);
  serve(Request::kWrite, begin, band.write_pointer);
  return arm_.free_ns();
}

uint64_t ShingledDisk::CacheAddress(uint64_t position) const {
  return kCacheAddress + position % parameters_.media_cache_bytes;
}

void ShingledDisk::AddPiece(uint64_t address, const Piece& piece) {
  pieces_[address] = piece;
  log_[piece.position] = address;
  cleaning_.media_cache_bytes += piece.length;
}

void ShingledDisk::RemovePieces(uint64_t begin, uint64_t end) {
  auto next = pieces_.lower_bound(begin);
  if (next != pieces_.begin()) {
    const auto& [address, piece] = *std::prev(next);
    if (address + piece.length > begin) --next;
  }
  while (next != pieces_.end() && next->first < end) {
    const auto [address, piece] = *next;
    next = pieces_.erase(next);
    log_.erase(piece.position);
    cleaning_.media_cache_bytes -= piece.length;
    if (address < begin) AddPiece(address, {begin - address, piece.position});
    if (address + piece.length > end) {
      AddPiece(end, {address + piece.length - end,
                     piece.position + (end - address)});
    }
  }
}

ZonedDisk::ZonedDisk(const DeviceParameters& parameters)
    : zone_bytes_(parameters.band_bytes), arm_(parameters) {
  assert(zone_bytes_ > 0);
}

int64_t ZonedDisk::Submit(int64_t now_ns, const Request& request) {
  if (request.direction == Request::kWrite) {
    Append(request.address, request.length);
  }
  return arm_.Serve(now_ns, request, request.ShareOfUnit());
}

int64_t ZonedDisk::QueueNs(int64_t now_ns) const {
  return arm_.QueueNs(now_ns);
}

void ZonedDisk::Hold(uint64_t address, uint64_t length) {
  Append(address, length);
}

void ZonedDisk::Discard(uint64_t address, uint64_t length) {
  ForEachBand(zone_bytes_, address, length, [this](uint64_t part, uint64_t) {
    write_pointers_.erase(part / zone_bytes_);
  });
}

std::optional<CleaningCounters> ZonedDisk::Cleaning() const {
  return CleaningCounters();
}

void ZonedDisk::Append(uint64_t address, uint64_t length) {
  ForEachBand(zone_bytes_, address, length,
              [this](uint64_t part, uint64_t part_length) {
                const uint64_t zone = part / zone_bytes_;
                const uint64_t offset = part % zone_bytes_;
                uint64_t& write_pointer = write_pointers_[zone];
                if (offset != write_pointer && write_error_.empty()) {
                  write_error_ = "a write at byte " + std::to_string(offset) +
                                 " of zone " + std::to_string(zone) +
                                 ", whose write pointer is at byte " +
                                 std::to_string(write_pointer);
                }
                write_pointer = offset + part_length;
              });
}

}  // namespace recompact
