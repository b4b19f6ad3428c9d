#include "fs/net/body_pool.h"

#include <algorithm>
#include <utility>

#include "fs/core/heap.h"

namespace framefs::net {

auto BodyPool::take(std::size_t size) -> Body {
  auto body = shelf_->with([&](Idle& idle) -> Body {
    const auto fits = [&](const Body& one) {
      return one.capacity() >= size && one.capacity() / 2 <= size;
    };
    const auto match = std::ranges::find_if(idle.bodies.rbegin(), idle.bodies.rend(), fits);
    if (match == idle.bodies.rend()) return {};
    auto found = std::move(*match);
    idle.bodies.erase(std::next(match).base());
    idle.bytes -= found.capacity();
    return found;
  });
  body.clear();
  body.reserve(size);
  return body;
}

auto BodyPool::share(Body body) -> std::shared_ptr<const Body> {
  auto owned = std::make_unique<Body>(std::move(body));
  const auto give = [shelf = shelf_](Body* dropped) {
    const std::unique_ptr<Body> last(dropped);
    give_back(*shelf, std::move(*last));
  };
  return {owned.release(), give};
}

std::uint64_t BodyPool::idle_bytes() const {
  return shelf_->with([](const Idle& idle) { return idle.bytes; });
}

void BodyPool::give_back(Shelf& shelf, Body body) {
  // The heap keeps the memory of smaller bodies by itself.
  if (body.capacity() < fs::kMappedBytes || body.capacity() > kIdleBytes) return;
  std::vector<Body> dropped;  // freed after the lock is released
  shelf.with([&](Idle& idle) {
    // The oldest go first: their size is most likely not needed any more.
    while (idle.bytes + body.capacity() > kIdleBytes) {
      idle.bytes -= idle.bodies.front().capacity();
      dropped.push_back(std::move(idle.bodies.front()));
      idle.bodies.erase(idle.bodies.begin());
    }
    idle.bytes += body.capacity();
    idle.bodies.push_back(std::move(body));
  });
}

}  // namespace framefs::net
