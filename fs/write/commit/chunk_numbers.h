#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "codec/core/result.h"
#include "codec/frame/frame_space.h"
#include "fs/core/threads/guarded.h"

namespace framefs::fs {

using codec::Result;

// The numbers of the chunk files of a sparse frame: which a state uses, and which are free.  A
// number is free again when no committed state that a crash could bring back has it.
// Threads: any number may call take(), reject(), and drop() of a number from take(); the other
//   members are for the thread that prepares a commit.
class ChunkNumbers {
 public:
  // To be called once, before all other members, with the index of the frame as it was opened.  A
  // number that no chunk has is free after the next commit: no crash brings back a state that has
  // it.
  void begin(std::span<const std::int64_t> entries);
  // Several chunks had one file when the frame was opened, as the index of an untrusted frame may
  // say: no number of that time is given up.
  [[nodiscard]] bool are_shared() const noexcept { return are_shared_; }

  // The lowest free number, for a chunk of `size` bytes: the reference library refuses high ones.
  // Errors: over_limit.
  Result<std::uint32_t> take(std::size_t size);
  // Another file has this number from take(), which take() does not return again.
  void reject(std::uint32_t number);
  // The next state does not have the chunk with this number, whose file has `bytes`; 0 if that is
  // not known.  Returns true if no committed state has it either: its file can be removed now.
  bool drop(std::uint32_t number, std::uint64_t bytes);
  // The numbers from take() since the last commit, without those dropped.
  [[nodiscard]] std::vector<std::uint32_t> fresh() const;
  // The bytes that the next state has more than the committed one.
  [[nodiscard]] std::int64_t added_bytes() const;

  // The next state is committed.
  void commit();
  // The numbers whose files are to be removed, once the last commit is durable.  Each is returned
  // once.
  [[nodiscard]] std::vector<std::uint32_t> take_removable();
  // Those that only the state before the committed one has.
  [[nodiscard]] std::vector<std::uint32_t> take_dead();

 private:
  struct State {
    codec::FrameSpace space{0};
    std::unordered_map<std::uint32_t, std::uint64_t> fresh;  // the sizes of the chunks
    std::int64_t added_bytes = 0;
  };
  Guarded<State> state_;
  bool are_shared_ = false;
  std::vector<std::uint32_t> retired_;    // the committed state has them, and the next has not
  std::vector<std::uint32_t> dead_;       // only the state before the committed one has them
  std::vector<std::uint32_t> removable_;  // their files are to be removed
};

}  // namespace framefs::fs
