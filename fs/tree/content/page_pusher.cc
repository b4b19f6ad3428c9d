#include "fs/tree/content/page_pusher.h"

#include <utility>

#include "fs/read/decode_cache.h"

namespace framefs::fs {
namespace {

// Larger blocks are not stored: their pages would take longer than the reads that they save.
constexpr std::uint64_t kMaxBlockBytes = 1u << 20;
// The blocks that wait are in memory beside the cache's budget.
constexpr std::uint64_t kMaxWaitingBytes = 4u << 20;

}  // namespace

void PagePusher::start(Kernel kernel) {
  state_.with([&](State& state) {
    state.is_running = true;
    state.kernel = std::make_shared<const Kernel>(std::move(kernel));
  });
}

void PagePusher::stop() {
  state_.with([](State& state) { state.is_running = false; });
  thread_.stop();
}

// The kernel takes a page as read only if all of it is stored at once.
auto PagePusher::whole_pages(std::shared_ptr<const OpenFile> file, HotBlock block) const -> Push {
  const auto bytes = block.bytes->view();
  const auto skipped = (page_bytes_ - block.offset % page_bytes_) % page_bytes_;
  std::span<const std::byte> pages;
  if (skipped < bytes.size()) {
    const auto rest = bytes.subspan(skipped);
    pages = rest.first(rest.size() - rest.size() % page_bytes_);
  }
  const auto offset = block.offset + skipped;
  return {.file = std::move(file), .block = std::move(block), .offset = offset, .pages = pages};
}

std::uint64_t PagePusher::Push::hash() const {
  return DecodeCache::hash_of({.content = block.key.content, .chunk = offset});
}

void PagePusher::offer(std::shared_ptr<const OpenFile> file, HotBlock block) {
  auto one = whole_pages(std::move(file), std::move(block));
  const auto size = one.size();
  if (one.pages.empty() || size > kMaxBlockBytes) return;
  const auto hash = one.hash();
  const bool is_taken = state_.with([&](State& state) {
    if (!state.is_running || state.waiting_bytes + size > kMaxWaitingBytes) return false;
    const auto answer = state.recent.note(hash);
    if (answer == RecentStores::Answer::no) return false;
    one.is_first = answer == RecentStores::Answer::first;
    state.waiting_bytes += size;
    return true;
  });
  if (!is_taken || thread_.add([this, one = std::move(one)] { store(one); })) return;
  state_.with([&](State& state) {
    state.waiting_bytes -= size;
    state.recent.forget(hash);
  });
}

void PagePusher::drain(const FileKey& file) {
  state_.wait_until(
      std::chrono::steady_clock::now() + patience_,
      [&](const State& state) { return state.storing != file; }, [](const State&) {});
}

void PagePusher::store(const Push& one) {
  // The file is marked before its content is compared: if a drain() misses the mark, the comparison
  // sees the change that the drain() follows.
  const auto kernel = state_.with([&](State& state) {
    state.waiting_bytes -= one.size();
    state.storing = file_key(*one.file->node);
    return state.kernel;
  });
  const bool is_stored = push(*kernel, one);
  state_.with_and_wake([&](State& state) {
    state.storing.reset();
    if (!is_stored) state.recent.forget(one.hash());
  });
}

bool PagePusher::push(const Kernel& kernel, const Push& one) {
  const auto node = one.file->node->id;
  if (!is_current_(*one.file, one.block.key.content)) return false;
  kernel.store(node, one.offset, one.pages);
  pushed_bytes_.add(one.pages.size());
  if (!is_current_(*one.file, one.block.key.content)) {
    kernel.drop(node, one.offset, one.pages.size());
  } else if (one.is_evicted()) {
    one.block.evict();
  }
  return true;
}

}  // namespace framefs::fs
