#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "fs/source/chunk_files.h"
#include "fs/write/commit/chunk_numbers.h"
#include "fs/write/commit/committed_state.h"
#include "fs/write/commit/frame_backend.h"
#include "fs/write/commit/unsynced_files.h"

namespace framefs::fs {

// A sparse frame.  Each new chunk is a file whose number no committed state uses; it has the owner
// and the rights of the index file.  A commit replaces the index file by a new one with the same
// owner, mode and attributes.  Chunk files that no state needs are removed when the commit after is
// durable.
// Source: frame format, "Sparse frames" and "Shadow commit".
class SparseBackend final : public FrameBackend {
 public:
  // `directory` is the frame's directory, and `files` are its chunk files as readers open them.
  // `frame` was opened from its index file, and `entries` are its index.
  // Errors: system; those of reading the index file.
  static Result<std::unique_ptr<SparseBackend>> open(UniqueFd directory,
                                                     std::shared_ptr<const ChunkFiles> files,
                                                     const codec::Frame& frame,
                                                     const std::vector<std::int64_t>& entries);

  Status check_unchanged() override;
  [[nodiscard]] std::uint64_t touches() const override { return state_.touches(); }
  void expect_removal() override { state_.expect_removal(); }
  void note_times() override;
  Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) override;
  void drop(std::int64_t entry) override;
  Status prepare(const FrameContent& content) override;
  Status publish() override;
  // Always: numbers of chunks that only an older state has can be reused.
  [[nodiscard]] bool wants_reclaim() const override { return true; }
  Status reclaim() override;
  [[nodiscard]] std::uint64_t max_empty_trailer() const noexcept override {
    return std::numeric_limits<std::uint64_t>::max();
  }
  void release_old_states() override;
  // Keeps the first kMaxKeptFiles chunk files open.
  void keep_readable(std::span<const std::int64_t> entries) override;
  static constexpr std::size_t kMaxKeptFiles = 1024;
  void discard_stored() override;
  void set_params(const codec::FrameHeader& header) override;
  void set_chunksize(std::uint32_t chunksize) override;
  [[nodiscard]] int content_fd() const noexcept override { return index_->fd(); }
  [[nodiscard]] int lock_fd() const noexcept override { return directory_.get(); }
  [[nodiscard]] Result<struct stat> content_stat() const override;
  // Gives lower numbers to chunks whose numbers the reference library refuses.
  Status compact(const FrameContent& content, const Moved& moved) override;
  Usage usage(std::span<const std::int64_t> entries) override;

 private:
  SparseBackend(UniqueFd directory, std::shared_ptr<const ChunkFiles> files)
      : directory_(std::move(directory)), files_(std::move(files)) {}
  Status sync_files() override;
  [[nodiscard]] bool is_refused(std::int64_t entry) const noexcept;
  [[nodiscard]] Result<UniqueFd> open_chunk_file(std::uint32_t id) const;
  [[nodiscard]] Result<struct stat> stat_chunk_file(std::uint32_t id) const;
  struct StoredAgain {
    std::size_t place = 0;  // in the index
    std::int64_t entry = 0;
    std::uint64_t bytes = 0;
  };
  Result<StoredAgain> store_again(std::size_t place, std::int64_t entry);
  Result<std::vector<std::int64_t>> store_some_again(std::vector<std::int64_t>& entries,
                                                     std::size_t& at);
  Status commit_durably(const FrameContent& content);
  [[nodiscard]] Result<std::shared_ptr<const FileReader>> open_index() const;
  Result<UniqueFd> make_chunk_file(std::uint32_t number);
  Status write_index_file(std::span<const std::byte> bytes);
  void remove_file(std::uint32_t id);

  const UniqueFd directory_;
  const std::shared_ptr<const ChunkFiles> files_;
  std::shared_ptr<const FileReader> index_;       // the index file as committed
  CommittedState state_;                          // of the index file
  std::vector<std::byte> next_head_;              // header and metalayers
  std::uint64_t cbytes_ = 0;                      // of the committed state
  std::uint64_t next_cbytes_ = 0;                 // of the prepared state
  std::shared_ptr<const FileReader> next_index_;  // the file of the prepared state
  std::uint64_t next_len_ = 0;                    // its size
  std::uint64_t next_checksum_ = 0;               // of the bytes behind its header and metalayers
  ChunkNumbers numbers_;
  UnsyncedFiles written_;  // since the last sync
};

}  // namespace framefs::fs
