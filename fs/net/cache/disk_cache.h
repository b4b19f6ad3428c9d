#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/net/cache/cache_index.h"
#include "fs/net/cache/part_cache.h"
#include "fs/net/result.h"

namespace framefs::net {

// Keeps parts of objects in a folder of the local disk, for this mount and later ones.
//
// The folder holds segments.  A segment is a file to which records are appended (cache_record.h)
// and which is deleted as a whole.  A record never changes, and each read verifies its record.  The
// cache looks for no record behind one that a crash has torn.  A kill or a power cut therefore
// costs at most the last records.  The index is in memory; a thread builds it from the records'
// headers.
// Threads: any number.
class DiskCache final : public PartCache {
 public:
  struct Options {
    std::string folder;
    std::uint64_t quota_bytes = std::uint64_t{10} << 30;
  };
  // Creates the folder if it does not exist, and locks it.  Starts no thread.
  // Errors: system; EBUSY if another mount uses the folder, EPERM if it belongs to another user.
  static Result<std::unique_ptr<DiskCache>> open(Options options, fs::Log& log);
  // Starts the thread that builds the index and writes.
  void start();
  // Waits for the write that is under way, but not for parts that are still queued.
  ~DiskCache() override;

  std::vector<Part> find(const ContentKey& key, ByteRange range) override;
  bool holds(const ContentKey& key, ByteRange range) const override;
  void store(const ContentKey& key, const Part& part) override;

  // The folder, in which all files of the cache are.
  [[nodiscard]] int folder() const { return folder_.get(); }
  // The size of all segments on the disk.
  [[nodiscard]] std::uint64_t used_bytes() const;
  // Waits until each part that store() has taken so far is written or given up.
  void flush();

  static constexpr std::uint64_t kMaxSegmentBytes = 64 << 20;

 private:
  struct Segment {
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;
    bool was_used = false;  // since the clock's hand last passed
  };
  struct Pending {
    ContentKey key;
    Part part;
  };
  struct State {
    CacheIndex index;
    std::deque<Segment> segments;  // the clock's hand points to the first
    std::uint64_t used_bytes = 0;
    std::deque<Pending> pending;
    std::uint64_t pending_bytes = 0;
    bool is_indexed = false;
    bool is_writing = false;
    bool stopped = false;
  };
  // The segment to which records are appended.  It belongs to the writing thread.
  struct Tail {
    fs::UniqueFd fd;
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;
  };

  DiskCache(Options options, fs::UniqueFd folder, fs::UniqueFd lock, fs::Log& log);
  void run();
  void build_index();
  std::uint64_t index_segment(std::uint32_t number);
  void write(const Pending& pending);
  bool write_record(const CacheRecord& record, std::span<const std::byte> data);
  bool open_tail();
  // Deletes segments until `bytes` more fit.  False if they can never fit.
  bool make_room(std::uint64_t bytes);
  bool evict_one();
  std::optional<Part> read(const ContentKey& key, const CacheIndex::Place& place);
  // Makes sure that later mounts do not find a damaged record.
  void forget_on_disk(const CacheIndex::Place& place) const;
  void wait_for_index();

  // Constant after construction.
  const Options options_;
  const std::uint64_t segment_bytes_;
  const fs::UniqueFd folder_;
  const fs::UniqueFd lock_;
  fs::Log& log_;
  const std::chrono::steady_clock::time_point opened_;
  // Guarded.
  mutable fs::Guarded<State> state_;
  // Used by the writing thread alone.
  Tail tail_;
  std::uint32_t next_number_ = 1;
  std::chrono::steady_clock::time_point no_writing_until_{};
  std::jthread thread_;
};

}  // namespace framefs::net
