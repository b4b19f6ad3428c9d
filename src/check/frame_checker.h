#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "codec/core/limits.h"
#include "codec/core/units.h"
#include "codec/frame/chunk_checksums.h"
#include "codec/frame/frame.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/view/cached_frame.h"

namespace framefs {

// One damage of a frame.
struct Damage {
  std::string part;                      // "frame", "chunk", "vl-metalayer", "array"
  std::optional<std::uint64_t> chunk;    // its index
  std::string file;                      // the chunk file of a sparse frame
  std::optional<std::uint64_t> at;       // the offset in that file, or in the frame's file
  std::optional<codec::ByteRange> lost;  // the range of decoded bytes
  std::string cause;                     // in words for people
  std::string detail;                    // the field and the place of the error; may be empty
};

// The result of the check of one frame.  Units: bytes.
struct FrameReport {
  std::uint64_t chunks = 0;
  std::uint64_t nbytes = 0;
  std::uint64_t stored = 0;  // the file size of a contiguous frame
  std::uint64_t dead = 0;    // bytes of the file outside of chunks, index and trailer
  std::string elsewhere;     // what the frame is if its data lie elsewhere; else empty
  std::uint64_t damages = 0;
  std::uint64_t lost = 0;  // decoded bytes that cannot be read
  // Of the frame's checksums; nothing if they are damaged.
  std::optional<codec::FrameChecksums::State> checksums = codec::FrameChecksums::State::none;
  std::uint64_t mismatches = 0;  // chunks that can be decoded, but do not have their checksum
  std::uint64_t unhashed = 0;    // stored chunks without a checksum, if the frame has checksums
  bool is_opened = false;        // false if header, index or trailer cannot be read
  bool can_be_repaired = true;   // false for a frame whose chunks vary in size
  [[nodiscard]] bool is_sound() const noexcept { return damages == 0; }
  // Whether the frame lacks checksums that count, or some of them.
  [[nodiscard]] bool wants_checksums() const noexcept {
    return checksums != codec::FrameChecksums::State::valid || unhashed > 0 || mismatches > 0;
  }
  // Whether nothing but the checksums is damaged.
  [[nodiscard]] bool may_be_rehashed() const noexcept { return damages == (checksums ? 0 : 1); }
};

// Decodes every chunk of a frame and checks every other part against the rules of the format.  If
// the frame has checksums that count, it compares all bytes of chunks and trailer with them.
class FrameChecker {
 public:
  // The limit of damages of a frame that are told one by one; all are counted.
  static constexpr std::uint64_t kMaxTold = 1000;

  explicit FrameChecker(fs::WorkerPool& pool, const codec::Limits& limits = {})
      : pool_(pool), limits_(limits) {}

  using Found = std::function<void(const Damage& damage)>;
  // Called between batches of chunks with the number of decoded bytes so far; false ends the check.
  using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

  // Calls `found` for each damage, in chunk order.
  FrameReport check(const fs::FrameOrigin& origin, const Found& found, const Progress& progress);

 private:
  fs::WorkerPool& pool_;
  const codec::Limits limits_;
};

}  // namespace framefs
