#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "codec/core/result.h"
#include "codec/core/units.h"
#include "codec/frame/frame_space.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"

namespace framefs::fs {

using codec::ByteRange;
using codec::Result;

// The places of chunks, index and trailer in the file of a contiguous frame: which bytes a state
// uses, which are dead, and which may be written to.  No byte that a committed state needs is ever
// given out, whatever the index of an untrusted frame says about its chunks.
// Threads: any number may call allocate(), drop() of a chunk from allocate(), and end(); the other
//   members are for the thread that prepares a commit.
class ChunkPlaces {
 public:
  // A frame as it was opened.
  struct Opened {
    std::uint64_t header_len = 0;
    ByteRange tail;  // index and trailer
    std::span<const std::int64_t> entries;
    std::uint64_t file_bytes = 0;
  };

  // `file` is that of the frame.
  explicit ChunkPlaces(std::shared_ptr<const FileReader> file) : file_(std::move(file)) {}

  // To be called once, before all other members.
  void begin(const Opened& frame);

  // Bytes for a new chunk.  They become free again by drop() or drop_fresh(), until commit().
  std::uint64_t allocate(std::uint64_t size);
  // Bytes at or after `from`, or behind everything else.
  std::uint64_t allocate_from(std::uint64_t from, std::uint64_t size);
  std::uint64_t append(std::uint64_t size);
  // Nothing before `at` is given out by append().
  void raise_end(std::uint64_t at);
  // Returns bytes that no state has used.
  void take_back(std::span<const ByteRange> ranges);
  void take_back(ByteRange range) { take_back(std::span(&range, 1)); }
  // The next state does not use these bytes.
  void retire(std::span<const ByteRange> ranges);
  [[nodiscard]] std::vector<ByteRange> take_retired();

  // The next state does not have the chunk of an index entry.
  void drop(std::int64_t entry);
  // The chunks from allocate() that were not committed are gone.
  void drop_fresh();
  // The next state is committed: with the chunks from allocate(), and with index and trailer in
  // `tail`.
  void commit(ByteRange tail);
  // Nothing but the bytes before the end of `tail` is in use, and no crash brings back a state that
  // uses others.
  void reset(ByteRange tail);

  // Index and trailer of the committed state, to its end.
  [[nodiscard]] ByteRange tail() const noexcept { return tail_; }

  // The stored size of a chunk.  Errors: bad_field, if the chunk would lie elsewhere; system.
  [[nodiscard]] Result<std::uint32_t> stored_bytes(std::int64_t entry) const;
  // The stored sizes of the chunks that lie in the first `size` bytes of all places; 0 for the
  // others.  Errors: those of stored_bytes().
  [[nodiscard]] Result<std::vector<std::uint32_t>> sizes_within(
      std::uint64_t size, std::span<const std::int64_t> entries) const;
  // Where the last of the chunks ends.  Errors: those of stored_bytes().
  [[nodiscard]] Result<std::uint64_t> end_of(std::span<const std::int64_t> entries) const;

  // The end of all bytes that are in use.
  [[nodiscard]] std::uint64_t end() const;
  struct Usage {
    std::uint64_t total = 0;
    std::uint64_t dead = 0;
    bool is_complete = true;  // false: more of it may be dead
  };
  // Chunks that share bytes make no byte dead: a compaction would store them once for each chunk.
  [[nodiscard]] Usage usage();

 private:
  struct Allocation {
    codec::FrameSpace space{0};
    std::unordered_map<std::uint64_t, std::uint32_t> fresh;  // stored since the last commit
  };
  void learn_layout();
  void forget_layout();

  const std::shared_ptr<const FileReader> file_;
  std::uint64_t header_len_ = 0;
  ByteRange tail_;
  // The chunks at opening and where they end, until learn_layout() has used both.  Empty for a
  // frame of many chunks.
  std::vector<std::int64_t> entries_at_open_;
  std::uint64_t end_at_open_ = 0;
  // The frame had many chunks when it was opened, and it is not known whether any share bytes.  The
  // space of chunks that the file already had is reused only after a compaction.
  bool has_unknown_space_ = false;
  std::uint64_t size_at_open_ = 0;  // of the file
  // Chunks that the frame had at opening share bytes, or lie outside the place of chunks: no space
  // of these is reused.
  bool has_unsafe_layout_ = false;
  Guarded<Allocation> allocation_;
};

}  // namespace framefs::fs
