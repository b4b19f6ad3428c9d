#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "fs/core/threads/guarded.h"
#include "fs/read/buffer_pool.h"

namespace framefs::fs {

// Counts and limits the memory of a whole mount for written bytes that are not stored yet.  The
// limit includes a little memory that is kept for the next bytes.
//
// A part of the limit is reserved for frames that use little of it: a small write to one frame
// finds room while other frames fill theirs.  Another part is for the indexes of the frames that
// are open for writing.  An index may be long although its frame has few bytes.
// Threads: any number.
class OverlayBudget {
 public:
  explicit OverlayBudget(std::uint64_t limit_bytes);
  OverlayBudget(const OverlayBudget&) = delete;
  OverlayBudget& operator=(const OverlayBudget&) = delete;

  // The size of the largest chunk that can be written: a change of one byte of a chunk takes the
  // memory of the whole chunk.
  [[nodiscard]] std::uint64_t max_chunk_bytes() const noexcept {
    constexpr std::uint64_t kAlways = 256u << 20;
    return std::max(kAlways, limit_ + kept_bytes_);
  }

  // Bytes that are promised to a writer and not taken yet.
  class Reservation {
   public:
    Reservation(OverlayBudget& budget, std::uint64_t bytes) noexcept
        : budget_(&budget), bytes_(bytes) {}
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Reservation& operator=(Reservation&&) = delete;
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation() {
      if (budget_ != nullptr) budget_->release(bytes_);
    }

   private:
    OverlayBudget* budget_;
    std::uint64_t bytes_;
  };

  // The bytes of one frame.  Lifetime: the budget outlives it.
  class Account {
   public:
    explicit Account(OverlayBudget& budget) noexcept : budget_(budget) {}
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;
    ~Account() = default;

    // Returns `size` bytes of undefined content, which count until they are given back.
    std::unique_ptr<std::byte[]> take(std::size_t size);
    void give_back(std::unique_ptr<std::byte[]> bytes, std::size_t size) noexcept;
    // Counts memory that the caller has from elsewhere.
    void count(std::size_t size) noexcept;
    void uncount(std::size_t size) noexcept;
    // Nothing if there is no room for `bytes` more.  A request of more than half of the limit finds
    // room while no other such request holds its bytes: a chunk may exceed the limit alone.
    std::optional<Reservation> reserve(std::uint64_t bytes);
    [[nodiscard]] std::uint64_t used() const;

   private:
    friend class OverlayBudget;
    OverlayBudget& budget_;
    std::uint64_t used_ = 0;  // guarded by the budget's lock
  };

  // The memory of one frame's index.  Lifetime: the budget outlives it.
  // Threads: one at a time.
  class Index {
   public:
    explicit Index(OverlayBudget& budget) noexcept : budget_(&budget) {}
    Index(Index&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Index& operator=(Index&&) = delete;
    Index(const Index&) = delete;
    Index& operator=(const Index&) = delete;
    ~Index() {
      if (budget_ != nullptr) set(0);
    }

    // Counts at least `bytes`.  Returns false, and changes nothing, if there is no room for them.
    // An index that is longer than the part for indexes finds room while no other such index does.
    bool try_grow(std::uint64_t bytes);
    // Counts `bytes`, with or without room for them.
    void set(std::uint64_t bytes) noexcept;

   private:
    OverlayBudget* budget_;
    std::uint64_t bytes_ = 0;
  };

  // Counts how often room for indexes has appeared: an index has given memory back, or
  // note_index_room() was called.
  [[nodiscard]] std::uint64_t index_rooms() const;
  // To be called when a frame was closed, because its index can give its memory back.
  void note_index_room();
  // Waits until room for indexes has appeared after the first `rooms` times, or until `end`.
  // Returns whether it has.
  bool wait_for_index_room(std::uint64_t rooms, std::chrono::steady_clock::time_point end);
  // Whether a thread waits for room.
  [[nodiscard]] bool is_index_room_wanted() const;

  // All bytes that are taken or reserved, without those of indexes.
  [[nodiscard]] std::uint64_t used() const;

 private:
  struct State {
    std::uint64_t used = 0;    // without the oversized ones
    std::uint64_t frames = 0;  // that have taken bytes
    std::uint64_t oversized = 0;
    std::uint64_t oversized_bytes = 0;
    std::uint64_t index_bytes = 0;  // without the oversized ones
    std::uint64_t oversized_indexes = 0;
    std::uint64_t index_rooms = 0;
    unsigned waiting = 0;  // for room for indexes
  };
  [[nodiscard]] bool is_oversized(std::uint64_t bytes) const noexcept { return bytes > limit_ / 2; }
  [[nodiscard]] bool has_room(const State& now, std::uint64_t own, std::uint64_t bytes) const;
  [[nodiscard]] bool is_oversized_index(std::uint64_t bytes) const noexcept;
  void replace_index(State& now, std::uint64_t before, std::uint64_t after) const noexcept;
  void add(State& now, std::uint64_t bytes) const noexcept;
  void remove(State& now, std::uint64_t bytes) const noexcept;
  void release(std::uint64_t bytes) noexcept;

  const std::uint64_t kept_bytes_;
  const std::uint64_t limit_;  // without the memory that is kept
  BufferPool kept_;
  Guarded<State> state_;
};

}  // namespace framefs::fs
