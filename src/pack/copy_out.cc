#include "src/pack/copy_out.h"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace framefs {
namespace {

using codec::Result;
using codec::Status;

constexpr std::uint64_t kPartBytes = 8u << 20;

std::uint64_t size_of(const fs::ReadResult& piece) {
  std::uint64_t size = 0;
  for (const auto& span : piece.spans) size += span.size();
  return size;
}

// Writes one piece at a time in the background.
class PieceWriter {
 public:
  explicit PieceWriter(codec::ByteSink& sink) : sink_(sink) {}

  // Starts writing `piece` after the previous piece is written.  Errors: those of the previous
  // piece.
  Status put(std::uint64_t offset, fs::ReadResult piece) {
    FRAMEFS_CHECK(wait());
    // The piece is released as soon as it is written.  It occupies the decode cache until then, and
    // the reader of the next piece may be waiting for that memory.
    thread_ = std::jthread([this, offset, piece = std::move(piece)]() mutable {
      const auto written = std::move(piece);
      status_ = write(offset, written);
    });
    return {};
  }
  Status wait() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }

 private:
  Status write(std::uint64_t offset, const fs::ReadResult& piece) {
    for (const auto& span : piece.spans) {
      FRAMEFS_CHECK(sink_.write_at(offset, span));
      offset += span.size();
    }
    return {};
  }

  codec::ByteSink& sink_;
  Status status_;
  std::jthread thread_;  // destroyed first: the thread uses the other members
};

// Returns the first offset from `offset` on that is not in a hole; `size` if there is none.
Result<std::uint64_t> find_data(ShownFile& file, std::uint64_t offset, std::uint64_t size) {
  const auto found = file.seek(fs::Seek::data, offset);
  if (!found && found.error().kind == codec::Errc::system && found.error().sys == ENXIO)
    return size;
  return found;
}

Status copy_pieces(ShownFile& file, std::uint64_t size, PieceWriter& writer,
                   const std::function<bool(std::uint64_t)>& go_on) {
  for (std::uint64_t at = 0; at < size;) {
    FRAMEFS_TRY(const auto data, find_data(file, at, size));
    if (data >= size) return {};
    FRAMEFS_TRY(const auto hole, file.seek(fs::Seek::hole, data));
    const auto end = std::min(hole, size);
    for (at = data; at < end;) {
      if (!go_on(at)) return fs::system_error_of(EINTR, "stopped");
      const auto wanted = std::min(kPartBytes, end - at);
      FRAMEFS_TRY(auto piece, file.read(at, wanted));
      if (size_of(piece) != wanted) return codec::fail(codec::Errc::truncated, "file", at);
      FRAMEFS_CHECK(writer.put(at, std::move(piece)));
      at += wanted;
    }
  }
  return {};
}

}  // namespace

Status copy_out(ShownFile& file, codec::ByteSink& sink,
                const std::function<bool(std::uint64_t)>& go_on) {
  FRAMEFS_TRY(const auto size, file.size());
  // A member of a container whose bytes cannot be read is shown without bytes; a read gives the
  // cause.
  if (size == 0) FRAMEFS_CHECK(file.read(0, 1));
  PieceWriter writer(sink);
  FRAMEFS_CHECK(copy_pieces(file, size, writer, go_on));
  FRAMEFS_CHECK(writer.wait());
  FRAMEFS_CHECK(file.check_unchanged());
  return sink.truncate(size);
}

}  // namespace framefs
