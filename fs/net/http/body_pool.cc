#include "fs/net/http/body_pool.h"

#include <utility>

#include "fs/core/resources/heap.h"
#include "fs/net/cache/fetch_plan.h"

namespace framefs::net {
namespace {

// The largest range that a reader's request fetches (FetchRules::max_part_bytes).
constexpr std::size_t kMaxRangeBytes = FetchRules{}.max_part_bytes;

}  // namespace

auto BodyPool::take(std::size_t size) -> Body {
  auto body = idle_->take(size, size * 2 + 1);
  body.clear();
  if (body.capacity() < size) {
    body.reserve(size);
    // A server may announce more than it sends, and memory that is not written costs nothing.
    const bool may_be_range = size >= fs::kMappedBytes && size <= kMaxRangeBytes;
    if (may_be_range) fs::provide_pages({body.data(), size});
  }
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
