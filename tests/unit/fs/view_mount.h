#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fs/read/content_id.h"
#include "fs/view/cached_frame.h"
#include "fs/view/view.h"
#include "tests/support/bytes.h"
#include "tests/unit/fs/shared_source.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::test {

// The services that views need.
class ViewMount {
 public:
  static constexpr std::uint64_t kBudget = 64u << 20;
  explicit ViewMount(std::uint64_t budget = kBudget)
      : budget_(budget),
        buffers_(1u << 20),
        cache_(budget),
        pool_(2),
        blocks_(cache_, buffers_, pool_) {}

  // Opens a frame that has nothing in the cache.
  std::shared_ptr<const fs::CachedFrame> open(fs::FrameOrigin origin) {
    const fs::ReadServices services{limits_, buffers_, cache_, blocks_, log_.log()};
    return std::make_shared<const fs::CachedFrame>(std::move(origin), content_ids_.next(),
                                                   services);
  }
  std::shared_ptr<const fs::CachedFrame> open(std::shared_ptr<const codec::ByteSource> source) {
    return open(fs::contiguous_origin(std::move(source), "the frame"));
  }
  std::shared_ptr<const fs::CachedFrame> open(Bytes frame) {
    return open(std::make_shared<const SharedSource>(std::move(frame)));
  }

  fs::DecodeCache& cache() { return cache_; }
  fs::BufferPool& buffers() { return buffers_; }
  codec::Limits& limits() { return limits_; }  // for frames opened later
  [[nodiscard]] std::uint64_t budget() const { return budget_; }
  [[nodiscard]] std::vector<std::string> lines() const { return log_.lines(); }

 private:
  const std::uint64_t budget_;
  TestLog log_;
  codec::Limits limits_;
  fs::BufferPool buffers_;
  fs::DecodeCache cache_;
  fs::WorkerPool pool_;
  fs::BlockFetcher blocks_;
  fs::ContentIds content_ids_;
};

inline Bytes joined(const fs::ReadResult& result) {
  Bytes all;
  for (const auto& span : result.spans) append(all, span);
  return all;
}

inline codec::Result<Bytes> read(const fs::View& view, std::uint64_t offset, std::uint64_t size,
                                 fs::Access access = fs::Access::random) {
  FRAMEFS_TRY(const auto result, view.read(offset, size, access));
  return joined(result);
}

}  // namespace framefs::test
