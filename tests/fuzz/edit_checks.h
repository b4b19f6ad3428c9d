#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <spdlog/logger.h>

#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/source/chunk_files.h"
#include "fs/source/sparse_frame.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/standalone_write_context.h"
#include "tests/fuzz/frame_checks.h"
#include "tests/support/bytes.h"

namespace framefs::fuzz {

// Edits a stored frame as a mount does, and compares it with its state before: whatever the bytes
// of the frame, those that could be read and were not touched stay as they were, and what was
// written and committed is there.  A failed check ends the process.
class EditChecks {
 public:
  // `frame` is a file, or the folder of a sparse frame.  `seed` selects the edits.
  EditChecks(std::filesystem::path frame, std::uint64_t seed)
      : path_(std::move(frame)), random_(seed) {}

  void run() {
    if (!read_before()) return;
    if (const auto session = open_session()) edit(*session);
    compare();
  }

 private:
  using Session = fs::FrameWriteSession;
  static constexpr std::uint64_t kMaxBytes = 256u << 10;
  static constexpr std::uint64_t kMaxChunks = 512;
  static constexpr std::size_t kMaxPieces = 4096;
  static constexpr std::uint64_t kMaxEditBytes = 12u << 10;

  // The frame in its files.
  struct Stored {
    std::unique_ptr<const fs::FileReader> source;
    std::unique_ptr<const fs::ChunkFiles> chunk_files;  // of a sparse frame
    std::optional<codec::Frame> frame;

    [[nodiscard]] codec::FrameReader reader() const {
      const codec::ByteSource& chunks = chunk_files
                                            ? static_cast<const codec::ByteSource&>(*chunk_files)
                                            : static_cast<const codec::ByteSource&>(*source);
      return {*source, chunks, *frame, small_limits()};
    }
  };

  [[nodiscard]] bool is_sparse() const { return std::filesystem::is_directory(path_); }

  [[nodiscard]] fs::UniqueFd open_path(int flags) const {
    return fs::UniqueFd(::open(path_.c_str(), flags | O_CLOEXEC));
  }

  [[nodiscard]] std::optional<Stored> open_stored() const {
    Stored stored;
    auto index = open_path(O_RDONLY);
    if (is_sparse()) {
      stored.chunk_files = std::make_unique<fs::ChunkFiles>(open_path(O_RDONLY | O_DIRECTORY));
      auto opened = fs::open_sparse_index(index.get(), O_RDONLY);
      if (!opened) return std::nullopt;
      index = std::move(*opened);
    }
    stored.source = std::make_unique<const fs::FileReader>(std::move(index));
    auto frame = is_sparse() ? codec::Frame::open_sparse(*stored.source, small_limits())
                             : codec::Frame::open(*stored.source, small_limits());
    if (!frame) return std::nullopt;
    stored.frame = std::move(*frame);
    return stored;
  }

  // Divides the frame into its blocks, because a block is readable or damaged as a whole, and reads
  // them.  Returns false for frames that are not edited.
  bool read_before() {
    const auto stored = open_stored();
    if (!stored || stored->frame->header().has_variable_chunks()) return false;
    const auto size = stored->frame->nbytes();
    if (size > kMaxBytes || stored->frame->chunk_count() > kMaxChunks) return false;
    const std::uint64_t chunksize = stored->frame->header().chunksize;
    auto reader = stored->reader();
    content_.assign(size, std::byte{0});
    known_.assign(size, false);
    for (std::uint64_t begin = 0; begin < size; begin += chunksize) {
      const auto end = std::min(begin + chunksize, size);
      const auto chunk = reader.open_chunk(codec::ChunkIndex{begin / chunksize});
      const bool has_blocks =
          chunk && chunk->body() == codec::ChunkBody::blocks && chunk->header().blocksize > 0;
      const auto step = has_blocks ? std::uint64_t{chunk->header().blocksize} : end - begin;
      for (auto at = begin; at < end; at += step) pieces_.push_back({at, std::min(step, end - at)});
      if (pieces_.size() > kMaxPieces) return false;
    }
    for (const auto& piece : pieces_) {
      const auto out = std::span(content_).subspan(piece.offset, piece.size);
      if (reader.read(piece.offset, out)) set_known(piece, true);
    }
    return true;
  }

  [[nodiscard]] std::shared_ptr<Session> open_session() const {
    static fs::Log log(std::make_shared<spdlog::logger>("fuzz"));
    static fs::StandaloneWriteContext context(log, {.threads = 2});
    fs::WriteTarget target{.file = nullptr, .directory = {}, .name = "the frame"};
    if (is_sparse()) {
      target.directory = open_path(O_RDONLY);
    } else {
      target.file = std::make_shared<const fs::FileReader>(open_path(O_RDWR));
    }
    auto opening = context.begin(std::move(target));
    if (!opening) {
      demand(opening.error().kind != codec::Errc::internal);
      return nullptr;
    }
    return context.make(std::move(*opening));
  }

  void edit(Session& session) {
    if (session.nbytes() != content_.size()) std::abort();
    least_size_ = content_.size();
    auto ownership = session.begin_change();
    if (!note(ownership)) return give_up();
    const auto edits = 1 + random_() % 4;
    for (std::uint64_t i = 0; i < edits; ++i) {
      switch (random_() % 6) {
        case 0:
        case 1:
          write(session, random_() % (content_.size() + 1));
          break;
        case 2:
          write(session, content_.size());
          break;
        case 3:
          truncate(session);
          break;
        case 4:
          note(session.commit(false));
          break;
        default:
          note(session.commit(true));
          note(session.compact(true));
          break;
      }
    }
    ownership = std::unexpected(codec::Error{});
    note(session.commit(true));
    if (has_failed_) give_up();
  }

  template <class Result>
  bool note(const Result& result) {
    if (result) return true;
    demand(result.error().kind != codec::Errc::internal);
    has_failed_ = true;
    return false;
  }

  // Some edits may be lost: what they touched is old or new, and so is the size.
  void give_up() {
    content_.resize(std::min<std::uint64_t>(content_.size(), least_size_));
    known_.resize(content_.size());
    for (const auto& range : touched_) set_known(range, false);
    is_size_known_ = false;
  }

  void write(Session& session, std::uint64_t offset) {
    const auto bytes = test::Bytes(random_() % kMaxEditBytes, static_cast<std::byte>(random_()));
    if (bytes.empty()) return;
    touched_.push_back({offset, bytes.size()});
    const Session::Piece piece{offset, bytes};
    auto written = session.write(std::span(&piece, 1));
    if (written && written->missing_room > 0) {
      note(session.commit(false));
      written = session.write(std::span(&piece, 1));
    }
    if (!note(written)) return;
    if (written->missing_room > 0) {
      has_failed_ = true;
      return;
    }
    if (offset + bytes.size() > content_.size()) resize(offset + bytes.size());
    std::ranges::copy(bytes, content_.begin() + static_cast<std::ptrdiff_t>(offset));
    set_known({offset, bytes.size()}, true);
  }

  void truncate(Session& session) {
    const auto size = random_() % (content_.size() + kMaxEditBytes);
    least_size_ = std::min(least_size_, size);
    const auto begin = std::min<std::uint64_t>(size, content_.size());
    touched_.push_back({begin, std::max<std::uint64_t>(size, content_.size()) - begin});
    if (note(session.truncate(size))) resize(size);
  }

  void resize(std::uint64_t size) {
    content_.resize(size, std::byte{0});
    known_.resize(size, true);
  }

  void set_known(codec::ByteRange range, bool is_known) {
    const auto begin = std::min<std::uint64_t>(range.offset, known_.size());
    const auto end = std::min<std::uint64_t>(range.offset + range.size, known_.size());
    for (auto at = begin; at < end; ++at) known_[at] = is_known;
  }

  // Compares what is stored now with what is known of it.
  void compare() {
    const bool has_known = std::ranges::find(known_, true) != known_.end();
    const auto stored = open_stored();
    if (!stored) return demand(!has_known);
    const auto size = stored->frame->nbytes();
    demand(is_size_known_ ? size == content_.size() : size >= content_.size() || !has_known);
    auto reader = stored->reader();
    if (!pieces_.empty()) {
      const auto end = pieces_.back().offset + pieces_.back().size;
      if (end < content_.size()) pieces_.push_back({end, content_.size() - end});
    } else if (!content_.empty()) {
      pieces_.push_back({0, content_.size()});
    }
    for (const auto& piece : pieces_) {
      if (piece.offset >= std::min<std::uint64_t>(size, content_.size())) break;
      compare(reader, {piece.offset, std::min({piece.size, content_.size() - piece.offset,
                                               size - piece.offset})});
    }
  }

  void compare(codec::FrameReader& reader, codec::ByteRange piece) const {
    test::Bytes now(piece.size, std::byte{0x55});
    const auto begin = known_.begin() + static_cast<std::ptrdiff_t>(piece.offset);
    const auto end = begin + static_cast<std::ptrdiff_t>(piece.size);
    if (!reader.read(piece.offset, now)) {
      return demand(std::find(begin, end, false) != end);
    }
    for (std::uint64_t i = 0; i < piece.size; ++i) {
      demand(!known_[piece.offset + i] || now[i] == content_[piece.offset + i]);
    }
  }

  const std::filesystem::path path_;
  std::mt19937_64 random_;
  test::Bytes content_;
  std::vector<bool> known_;  // which bytes of `content_` the frame must have
  std::vector<codec::ByteRange> pieces_;
  std::vector<codec::ByteRange> touched_;
  std::uint64_t least_size_ = 0;
  bool is_size_known_ = true;
  bool has_failed_ = false;
};

}  // namespace framefs::fuzz
