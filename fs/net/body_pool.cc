#include "fs/net/body_pool.h"

#include <utility>

#include "fs/core/heap.h"

namespace framefs::net {

auto BodyPool::take(std::size_t size) -> Body {
  auto body = idle_->take(size, size * 2 + 1);
  body.clear();
  body.reserve(size);
  return body;
}

auto BodyPool::share(Body body) -> std::shared_ptr<const Body> {
  auto owned = std::make_unique<Body>(std::move(body));
  const auto give_back = [idle = idle_](Body* dropped) {
    const std::unique_ptr<Body> last(dropped);
    const auto size = last->capacity();
    // The heap keeps the memory of smaller bodies by itself.
    if (size >= fs::kMappedBytes) idle->put(std::move(*last), size);
  };
  return {owned.release(), give_back};
}

std::uint64_t BodyPool::idle_bytes() const { return idle_->bytes(); }

}  // namespace framefs::net
