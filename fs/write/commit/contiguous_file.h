#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/units.h"
#include "codec/frame/frame_header.h"
#include "fs/core/files/file.h"
#include "fs/write/commit/committed_state.h"

namespace framefs::fs {

// The file of a contiguous frame, as this process changes it.
//
// Invariant: at every moment, and after a crash, the file holds the committed state or the one that
// is being published: only publish() changes bytes of the committed state, by one write within one
// sector.  Each change is announced to the CommittedState, so that no thread takes it for a change
// by another process.
//
// The caller has checked, directly before each change, that the file holds() the known state.
// Errors of all members: system.
// Threads: holds() and stat() from any number; store() too, for places that do not overlap; the
//   others from one.
class ContiguousFile {
 public:
  using Head = CommittedState::Head;
  explicit ContiguousFile(std::shared_ptr<const FileReader> file) : file_(std::move(file)) {}

  // Records the state of the file, in which the header ends at `header_len`, and index and trailer
  // are `tail`.  `bytes` is its content, and `st` the attributes that it had before they were read.
  // An empty file stands for the frame that `bytes` are.  Errors: also those of reading `bytes`.
  Status learn(const struct stat& st, const codec::ByteSource& bytes, std::uint64_t header_len,
               codec::ByteRange tail);
  // Writes the frame for which an empty file stands.  A crash leaves the file empty, or with the
  // whole frame, which lies within one sector.
  Status store_first();
  [[nodiscard]] bool stands_for_frame() const noexcept { return !first_bytes_.empty(); }

  // Whether the file still holds the known state.
  [[nodiscard]] Result<bool> holds() const { return state_.holds(*file_); }
  // Writes bytes to which no committed state refers.
  Status store(std::uint64_t at, std::span<const std::byte> bytes);
  // Makes `sizes` and the parameters the state of the file, by one write of the header.  `rest`
  // follows the fixed header in the same write.  Index and trailer are at `tail` then.
  struct Next {
    codec::FrameSizes sizes;
    std::span<const std::byte> rest;
    codec::ByteRange tail;
    std::uint64_t tail_checksum = 0;
  };
  Status publish(const Next& next);
  // Removes the bytes from `end` on, to which no state refers.
  Status truncate(std::uint64_t end);
  [[nodiscard]] Status sync() const;
  // Whether the file has these bytes.
  [[nodiscard]] Result<bool> has(codec::ByteRange at, std::span<const std::byte> bytes) const;

  // The trailer of the frame with this header.  Another program may have changed it since.
  // Errors: also bad_field.
  [[nodiscard]] Result<std::vector<std::byte>> read_trailer(const codec::FrameHeader& header) const;

  // The next state has these parameters.
  void set_params(const codec::FrameHeader& header);
  void set_chunksize(std::uint32_t chunksize);
  [[nodiscard]] Head head() const { return state_.head(); }

  // See CommittedState.
  [[nodiscard]] std::uint64_t touches() const { return state_.touches(); }
  void expect_removal() { state_.expect_removal(); }
  [[nodiscard]] bool is_orphan() const { return state_.is_orphan(); }
  void note_times() { state_.note_times(*file_); }

  [[nodiscard]] const FileReader& reader() const noexcept { return *file_; }
  [[nodiscard]] int fd() const noexcept { return file_->fd(); }

 private:
  const std::shared_ptr<const FileReader> file_;
  CommittedState state_;
  std::uint64_t header_len_ = 0;
  std::vector<std::byte> first_bytes_;  // of an empty file: the frame that it is to get
  std::optional<Head> next_head_;       // set if the parameters change as well
};

}  // namespace framefs::fs
