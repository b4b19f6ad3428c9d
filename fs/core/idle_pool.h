#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "fs/core/guarded.h"

namespace framefs::fs {

// What an IdlePool keeps of objects that are not in use.
struct KeptIdle {
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();  // of one: T::memory_bytes()
  std::size_t max_count = std::numeric_limits<std::size_t>::max();
};

// Objects that cost much to make and serve one thread at a time, such as the contexts of decoders.  A
// thread takes one for the time of one task, and the pool keeps it for the next.
// Threads: any number.
template <class T, KeptIdle kKept = KeptIdle{}>
class IdlePool {
 public:
  // One object in use; it goes back with the lease.
  class Lease {
   public:
    Lease(IdlePool& pool, std::unique_ptr<T> object) noexcept
        : pool_(pool), object_(std::move(object)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      // What is not kept is destroyed after the lock.
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

  // The object that was returned last, whose memory is the likeliest to be in the CPU's caches; where
  // none is idle, what make(), () -> std::unique_ptr<T>, returns.  Lifetime: the pool outlives the lease.
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
