#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fs/core/resources/heap.h"
#include "fs/core/resources/idle_memory.h"

namespace framefs::net {

// Memory for the bodies of answers.  A body that is dropped leaves its memory to a later one: the
// kernel takes longer to provide and clear new pages than a fast network to fill them.
// Threads: any number.
class BodyPool {
 public:
  using Body = std::vector<std::byte>;

  // The memory that the pool keeps for later bodies.  Units: bytes.
  static constexpr std::uint64_t kIdleBytes = 16 << 20;

  // Returns an empty body with room for `size` bytes, and for no more than twice as many.
  Body take(std::size_t size);
  // Returns a body whose memory goes back to the pool with the last reference.  It may outlive the
  // pool.
  std::shared_ptr<const Body> share(Body body);

  // The memory that the pool keeps now.  Units: bytes.
  [[nodiscard]] std::uint64_t idle_bytes() const;

 private:
  // A smaller body is not kept, so more than these do not fit.
  static constexpr std::size_t kMostBodies = kIdleBytes / fs::kMappedBytes;
  using Idle = fs::IdleMemory<Body>;

  const std::shared_ptr<Idle> idle_ = std::make_shared<Idle>(kIdleBytes, kMostBodies);
};

}  // namespace framefs::net
