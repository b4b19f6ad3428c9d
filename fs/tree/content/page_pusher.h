#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "fs/core/diagnostics/counters.h"
#include "fs/core/threads/guarded.h"
#include "fs/core/threads/task_threads.h"
#include "fs/read/read_result.h"
#include "fs/tree/content/open_file.h"
#include "fs/tree/content/recent_stores.h"

namespace framefs::fs {

// Gives hot blocks to the kernel's page cache, so that later reads of their bytes do not reach the
// daemon.  The kernel waits for pages that reads in flight have locked before it stores bytes in
// them.  Hence a separate thread does this: a thread that answers requests would wait for itself.
// It starts with a block, and ends when none has come for a while.
//
// A block is stored only while its content is the current one.  The content is compared before and
// after; if it has changed meanwhile, the kernel drops the stored pages.  A caller that makes old
// bytes wrong to show calls drain() after its change can be seen, and before it answers.
//
// A block of which the kernel has all bytes leaves the cache: it would be in memory twice, and its
// memory in the cache serves the next block.  It stays if the kernel has lost its pages before.
//
// Threads: any number.
class PagePusher {
 public:
  // The kernel's side.  The pusher's thread calls it.
  struct Kernel {
    std::function<void(NodeId, std::uint64_t offset, std::span<const std::byte>)> store;
    std::function<void(NodeId, std::uint64_t offset, std::uint64_t size)> drop;
  };
  // Whether `content` is the current content of the file, and the kernel knows its size.
  using IsCurrent = std::function<bool(const OpenFile&, ContentId)>;

  // Longer than the kernel takes to store a block whose pages no request has locked.
  static constexpr std::chrono::seconds kStorePatience{3};

  // `patience` limits the waits of drain().
  PagePusher(IsCurrent is_current, std::uint64_t page_bytes,
             std::chrono::seconds patience = kStorePatience)
      : is_current_(std::move(is_current)), page_bytes_(page_bytes), patience_(patience) {}
  PagePusher(const PagePusher&) = delete;
  PagePusher& operator=(const PagePusher&) = delete;
  ~PagePusher() { stop(); }

  // From now on until stop(), offered blocks are stored.  Without this call, they are ignored.
  void start(Kernel kernel);
  // Waits until no call of the kernel's side is running.  Must be called while requests are served:
  // the kernel may wait for the pages of a request.
  void stop();

  // Offers a block.  The offer is ignored if many bytes wait already, if the block is large, or if
  // it was stored lately (RecentStores).  Call this after the reply to the read that found the
  // block hot.
  void offer(std::shared_ptr<const OpenFile> file, HotBlock block);

  // Waits until no block of the file's earlier contents is being stored.  The wait has a limit,
  // because all threads that answer requests may be here while the kernel waits for an answer; the
  // pages are dropped nevertheless when the store ends.
  void drain(const FileKey& file);

  // Bytes stored since start().
  [[nodiscard]] std::uint64_t pushed_bytes() const noexcept { return pushed_bytes_.value(); }

 private:
  struct Push {
    std::shared_ptr<const OpenFile> file;
    HotBlock block;
    std::uint64_t offset = 0;          // of `pages` in the file
    std::span<const std::byte> pages;  // whole pages of the block
    bool is_first = true;              // the kernel has not lost its pages

    [[nodiscard]] std::uint64_t hash() const;
    [[nodiscard]] std::uint64_t size() const { return block.bytes->view().size(); }
    // Whether the block leaves the cache once it is stored.
    [[nodiscard]] bool is_evicted() const { return is_first && pages.size() == size(); }
  };
  struct State {
    std::uint64_t waiting_bytes = 0;  // of blocks that the thread has not taken
    RecentStores recent;
    std::optional<FileKey> storing;  // the file of the block that is being stored
    bool is_running = false;
    std::shared_ptr<const Kernel> kernel;  // constant while it runs
  };
  [[nodiscard]] Push whole_pages(std::shared_ptr<const OpenFile> file, HotBlock block) const;
  void store(const Push& one);
  // Returns whether the block was stored.
  bool push(const Kernel& kernel, const Push& one);

  const IsCurrent is_current_;
  const std::uint64_t page_bytes_;
  const std::chrono::seconds patience_;
  Counter pushed_bytes_;
  Guarded<State> state_;
  TaskThreads thread_{1};
};

}  // namespace framefs::fs
