#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// Pieces of memory that are not in use and wait for the next user.  The kernel then does not have
// to provide and clear new pages.  `Piece` owns its memory; an empty one owns nothing.
// Units: bytes.  Threads: any number.
template <class Piece>
class IdleMemory {
 public:
  // Keeps at most `most_bytes`, in at most `most_pieces`.
  IdleMemory(std::uint64_t most_bytes, std::size_t most_pieces) : most_bytes_(most_bytes) {
    // Reserved now, because put() must not fail.
    idle_.with([&](Idle& idle) { idle.pieces.reserve(most_pieces); });
  }

  // The latest piece of a size from `least` to `most`, or an empty one.  The latest one is the
  // likeliest to be in the CPU's caches.
  Piece take(std::size_t least, std::size_t most) {
    return idle_.with([&](Idle& idle) -> Piece {
      const auto fits = [&](const Sized& one) { return one.size >= least && one.size <= most; };
      const auto match = std::ranges::find_if(idle.pieces.rbegin(), idle.pieces.rend(), fits);
      if (match == idle.pieces.rend()) return {};
      return taken(idle, std::next(match).base());
    });
  }

  // Keeps a piece of `size` bytes, unless it is larger than everything that may be kept.
  void put(Piece piece, std::size_t size) noexcept {
    if (size > most_bytes_) return;
    bool is_kept = false;
    while (!is_kept) {
      // Freed after the lock is released.
      const Piece dropped = idle_.with([&](Idle& idle) -> Piece {
        is_kept = size <= most_bytes_ - idle.bytes && idle.pieces.size() < idle.pieces.capacity();
        // The oldest go first: their size is most likely not needed any more.
        if (!is_kept) return taken(idle, idle.pieces.begin());
        idle.bytes += size;
        idle.pieces.push_back({std::move(piece), size});
        return {};
      });
    }
  }

  [[nodiscard]] std::uint64_t bytes() const {
    return idle_.with([](const Idle& idle) { return idle.bytes; });
  }

 private:
  struct Sized {
    Piece piece;
    std::size_t size;
  };
  struct Idle {
    std::vector<Sized> pieces;  // latest last
    std::uint64_t bytes = 0;
  };

  static Piece taken(Idle& idle, typename std::vector<Sized>::iterator place) {
    auto piece = std::move(place->piece);
    idle.bytes -= place->size;
    idle.pieces.erase(place);
    return piece;
  }

  const std::uint64_t most_bytes_;
  Guarded<Idle> idle_;
};

}  // namespace framefs::fs
