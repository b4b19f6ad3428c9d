#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// As Guarded, for a value that many objects have and few use: it is made when it is changed first.
// Until then, its object holds a pointer only.
// Threads: any number.
template <class T>
class LazyGuarded {
 public:
  LazyGuarded() = default;
  LazyGuarded(const LazyGuarded&) = delete;
  LazyGuarded& operator=(const LazyGuarded&) = delete;
  ~LazyGuarded() { const std::unique_ptr<Guarded<T>> last(value_.load()); }

  template <class F>
  auto with(F&& body) {
    return made().with(std::forward<F>(body));
  }
  template <class F>
  auto with(F&& body) const {
    const Guarded<T>* const value = value_.load(std::memory_order_acquire);
    if (value != nullptr) return value->with(std::forward<F>(body));
    const T none{};
    return std::forward<F>(body)(none);
  }

 private:
  Guarded<T>& made() {
    if (auto* const value = value_.load(std::memory_order_acquire)) return *value;
    auto fresh = std::make_unique<Guarded<T>>();
    Guarded<T>* known = nullptr;
    // Acquire: another thread may have made the value.  Release: others see this one complete.
    if (!value_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) {
      return *known;
    }
    return *fresh.release();
  }

  std::atomic<Guarded<T>*> value_{nullptr};
};

}  // namespace framefs::fs
