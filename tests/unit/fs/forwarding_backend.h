#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fs/write/commit/frame_backend.h"

namespace framefs::test {

// A backend that passes all calls on to another one.  Tests derive from it and change some calls.
class ForwardingBackend : public fs::FrameBackend {
 public:
  explicit ForwardingBackend(std::unique_ptr<FrameBackend> backend)
      : FrameBackend(backend->checksums()), backend_(std::move(backend)) {}

  fs::Status check_unchanged() override {
    FRAMEFS_CHECK(check_usable());
    return backend_->check_unchanged();
  }
  [[nodiscard]] std::uint64_t touches() const override { return backend_->touches(); }
  void note_times() override { backend_->note_times(); }
  fs::Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) override {
    return backend_->write_chunk(chunk);
  }
  void drop(std::int64_t entry) override { backend_->drop(entry); }
  fs::Status prepare(const fs::FrameContent& content) override {
    return backend_->prepare(content);
  }
  fs::Status publish() override { return backend_->publish(); }
  [[nodiscard]] bool wants_reclaim() const override { return backend_->wants_reclaim(); }
  fs::Status reclaim() override { return backend_->reclaim(); }
  [[nodiscard]] std::uint64_t max_empty_trailer() const noexcept override {
    return backend_->max_empty_trailer();
  }
  void release_old_states() override { backend_->release_old_states(); }
  void discard_stored() override { backend_->discard_stored(); }
  void set_params(const codec::FrameHeader& header) override { backend_->set_params(header); }
  void set_chunksize(std::uint32_t chunksize) override { backend_->set_chunksize(chunksize); }
  [[nodiscard]] int content_fd() const noexcept override { return backend_->content_fd(); }
  [[nodiscard]] int lock_fd() const noexcept override { return backend_->lock_fd(); }
  [[nodiscard]] fs::Result<struct stat> content_stat() const override {
    return backend_->content_stat();
  }
  fs::Status compact(const fs::FrameContent& content, const Moved& moved) override {
    return backend_->compact(content, moved);
  }
  Usage usage(std::span<const std::int64_t> entries) override { return backend_->usage(entries); }

 protected:
  fs::Status sync_files() override { return backend_->sync(); }

 private:
  const std::unique_ptr<FrameBackend> backend_;
};

// Calls on_sync() before each sync.
class WatchedSyncs final : public ForwardingBackend {
 public:
  WatchedSyncs(std::unique_ptr<FrameBackend> backend, const std::function<void()>& on_sync)
      : ForwardingBackend(std::move(backend)), on_sync_(on_sync) {}

 private:
  fs::Status sync_files() override {
    on_sync_();
    return ForwardingBackend::sync_files();
  }

  const std::function<void()>& on_sync_;  // outlives it
};

}  // namespace framefs::test
