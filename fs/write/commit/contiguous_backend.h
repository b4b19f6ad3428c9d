#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "codec/frame/index_encoder.h"
#include "fs/write/commit/chunk_places.h"
#include "fs/write/commit/contiguous_file.h"
#include "fs/write/commit/frame_backend.h"

namespace framefs::fs {

// A frame in one file.  No other file ever replaces that file, so its links, owner, mode and
// attributes stay.  New chunks, index and trailer go to bytes that the committed state does not
// need.  The commit is one write of the fixed header, within the first sector.
// Source: frame format, "Shadow commit".
class ContiguousBackend final : public FrameBackend {
 public:
  // `file` is open for reading and writing.  `bytes` is its content: the file itself, bytes that
  // are known to be in it, or for an empty file those of an empty frame.  `st` holds the attributes
  // that the file had before `frame` and `entries`, its index, were read from `bytes`.
  // Errors: system; those of reading the header.
  static Result<std::unique_ptr<ContiguousBackend>> open(std::shared_ptr<const FileReader> file,
                                                         const struct stat& st,
                                                         const codec::ByteSource& bytes,
                                                         const codec::Frame& frame,
                                                         std::span<const std::int64_t> entries,
                                                         const codec::Limits& limits);

  Status check_unchanged() override;
  [[nodiscard]] std::uint64_t touches() const override { return file_.touches(); }
  void expect_removal() override { file_.expect_removal(); }
  [[nodiscard]] bool is_orphan() const override { return file_.is_orphan(); }
  // Stores the frame for which an empty file stands.
  Status begin_writing() override;
  void note_times() override { file_.note_times(); }
  Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) override;
  void drop(std::int64_t entry) override;
  Status prepare(const FrameContent& content) override;
  Status publish() override;
  [[nodiscard]] bool wants_reclaim() const override;
  Status reclaim() override;
  [[nodiscard]] std::uint64_t max_empty_trailer() const noexcept override;
  void release_old_states() override {}
  void discard_stored() override;
  void set_params(const codec::FrameHeader& header) override { file_.set_params(header); }
  void set_chunksize(std::uint32_t chunksize) override { file_.set_chunksize(chunksize); }
  [[nodiscard]] int content_fd() const noexcept override { return file_.fd(); }
  [[nodiscard]] int lock_fd() const noexcept override { return file_.fd(); }
  [[nodiscard]] Result<struct stat> content_stat() const override { return stat_of(file_.fd()); }
  Status compact(const FrameContent& content, const Moved& moved) override;
  Usage usage(std::span<const std::int64_t> entries) override;

 private:
  struct Pending {  // the frame after publish()
    codec::FrameSizes sizes;
    codec::ByteRange tail;
    std::uint64_t tail_checksum = 0;
    std::vector<codec::IndexEncoder::Digest> index_digests{};
    std::vector<std::byte> rest{};  // written with the fixed header, which it follows
  };

  ContiguousBackend(std::shared_ptr<const FileReader> file, const codec::Limits& limits)
      : file_(file), limits_(limits), places_(std::move(file)) {}
  Status sync_files() override;
  Status store(std::uint64_t at, std::span<const std::byte> bytes);
  [[nodiscard]] Pending without_chunks(std::span<const std::byte> trailer) const;
  Status prepare_empty(std::span<const std::byte> trailer);
  Status rewrite_empty(std::span<const std::byte> trailer);
  Status vacate_head(std::uint64_t size);
  Status compact_empty();
  Status copy_chunk(std::int64_t& entry, std::uint64_t size, std::uint64_t to);
  // Encodes the trailer for a state with these entries.
  using TrailerOf =
      std::function<Result<std::vector<std::byte>>(std::span<const std::int64_t> entries)>;
  Status prepare_at_end(std::uint64_t nbytes, std::span<const std::int64_t> entries,
                        const TrailerOf& trailer_of);
  Status prepare_aside(std::uint64_t nbytes, std::span<std::int64_t> entries,
                       std::span<const std::uint32_t> sizes, std::uint64_t least, bool moves_once,
                       const TrailerOf& trailer_of);
  Status commit_prepared();
  Status write_tail(std::uint64_t at, std::uint64_t nbytes, codec::IndexEncoder::Encoded tail);
  template <class Body>
  Status for_each_chunk(std::span<const std::int64_t> entries, const Body& body);
  // The bytes that the committed state needs.  Errors: those of for_each_chunk().
  Result<std::uint64_t> live_bytes(std::span<const std::int64_t> entries);
  void forget_pending();

  ContiguousFile file_;
  const codec::Limits limits_;
  std::uint32_t header_len_ = 0;
  bool is_empty_ = false;      // whether the committed state is empty
  codec::IndexEncoder index_;  // knows the index of the committed state
  std::optional<Pending> pending_;
  std::uint64_t copied_bytes_ = 0;  // by copy_chunk(), since the last sync there
  ChunkPlaces places_;
};

}  // namespace framefs::fs
