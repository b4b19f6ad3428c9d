#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// The limits of the idle objects that an IdlePool keeps.
struct KeptIdle {
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();  // by T::memory_bytes()
  std::size_t max_count = std::numeric_limits<std::size_t>::max();
};

// Keeps objects that are expensive to make and serve one thread at a time, such as the contexts of
// decoders. A thread takes an object for one task; the pool then keeps it for the next task.
// Threads: any number.
template <class T, KeptIdle kKept = KeptIdle{}>
class IdlePool {
 public:
  // One object in use; it returns to the pool when the lease is destroyed.
  class Lease {
   public:
    Lease(IdlePool& pool, std::unique_ptr<T> object) noexcept
        : pool_(pool), object_(std::move(object)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      // An object that is not kept is destroyed after the lock is released.
      if constexpr (kKept.max_bytes < std::numeric_limits<std::uint64_t>::max()) {
        if (object_->memory_bytes() > kKept.max_bytes) return;
      }
      pool_.idle_.with([&](auto& idle) {
        if (idle.size() < kKept.max_count) idle.push_back(std::move(object_));
      });
    }
    T& operator*() const noexcept { return *object_; }
    T* operator->() const noexcept { return object_.get(); }

   private:
    IdlePool& pool_;
    std::unique_ptr<T> object_;
  };

  // Takes the object that was returned last: its memory is the most likely to be in the CPU's
  // caches. If no object is idle, calls make(), () -> std::unique_ptr<T>.
  // Lifetime: the pool outlives the lease.
  template <class Make>
  [[nodiscard]] Lease take(const Make& make) {
    auto object = idle_.with([](auto& idle) {
      if (idle.empty()) return std::unique_ptr<T>();
      auto last = std::move(idle.back());
      idle.pop_back();
      return last;
    });
    return Lease(*this, object ? std::move(object) : make());
  }
  [[nodiscard]] Lease take() {
    return take([] { return std::make_unique<T>(); });
  }

 private:
  Guarded<std::vector<std::unique_ptr<T>>> idle_;
};

}  // namespace framefs::fs
