#include "src/pack/pack_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/pack/same_content.h"

namespace framefs {
namespace {

// The open of a FIFO without a writer would wait, and no signal could end the command.  The open of
// a file whose lease another process holds would wait for most of a minute; it fails with EAGAIN.
fs::Result<fs::UniqueFd> open_without_waiting(const fs::Place& place) {
  FRAMEFS_TRY(const auto entry, place.open(O_PATH));
  FRAMEFS_TRY(const auto st, fs::stat_of(entry.get()));
  const bool may_wait = S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode);
  const int flags = O_RDONLY | O_NOCTTY | (may_wait ? O_NONBLOCK : 0);
  // The object itself, which may have lost its name to a FIFO.
  fs::UniqueFd fd(::open(fs::path_of_fd(entry.get()).c_str(), flags | O_CLOEXEC));
  if (!fd) return fs::system_error("open");
  return fd;
}

}  // namespace

fs::Result<PackInput> PackInput::open(const fs::Place& place, std::function<bool()> stop) {
  FRAMEFS_TRY(auto fd, open_without_waiting(place));
  PackInput input(std::move(fd), place.name(), std::move(stop));
  FRAMEFS_TRY(const auto st, fs::stat_of(input.fd()));
  if (S_ISDIR(st.st_mode)) return fs::system_error_of(EISDIR, "open");
  if (S_ISREG(st.st_mode)) {
    input.file_ = st;
    ::posix_fadvise(input.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  return input;
}

fs::Result<PackInput> PackInput::open_file(const fs::Place& place, std::function<bool()> stop) {
  FRAMEFS_TRY(auto input, open(place, std::move(stop)));
  if (!input.file()) return fs::refusal(ESTALE, "was a file, and is something else now");
  return input;
}

// Standard input is read from its current position, so even a file is treated as a stream.
fs::Result<PackInput> PackInput::standard_input(std::function<bool()> stop) {
  // Standard input is duplicated, so that every input is closed in the same way.
  fs::UniqueFd fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!fd) return fs::system_error("open");
  return PackInput(std::move(fd), "-", std::move(stop));
}

std::optional<std::uint64_t> PackInput::size() const noexcept {
  if (!file_) return std::nullopt;
  return static_cast<std::uint64_t>(file_->st_size);
}

fs::Result<PackInput::Piece> PackInput::next(std::span<std::byte> bytes) {
  return file_ ? next_of_file(bytes) : next_of_stream(bytes);
}

fs::Status PackInput::check_unchanged() const {
  if (!file_) return {};
  FRAMEFS_TRY(const auto now, fs::stat_of(fd_.get()));
  if (same_content(*file_, now)) return {};
  return fs::refusal(ESTALE, "the file changed while it was read");
}

fs::Result<PackInput::Piece> PackInput::next_of_file(std::span<std::byte> bytes) {
  const auto size = std::min<std::uint64_t>(bytes.size(), this->size().value_or(at_) - at_);
  const auto piece = bytes.first(size);
  const bool hole = is_hole(at_ + size);
  if (!hole) FRAMEFS_CHECK(fs::read_fully(fd_.get(), at_, piece));
  at_ += size;
  return Piece{.size = piece.size(), .is_hole = hole};
}

// Returns whether there is no data from at_ to `end`.
bool PackInput::is_hole(std::uint64_t end) {
  if (at_ >= hole_end_) {
    const auto data = ::lseek(fd_.get(), static_cast<off_t>(at_), SEEK_DATA);
    // ENXIO means a hole up to the end of the file.  After any other error, everything counts as
    // data.
    hole_end_ = data >= 0 ? static_cast<std::uint64_t>(data)
                          : (errno == ENXIO ? size().value_or(0) : std::uint64_t{0});
  }
  return end > at_ && end <= hole_end_;
}

// HeldSignals may block the signals that end a command, so they do not interrupt read(2).
fs::Status PackInput::wait_for_stream() const {
  constexpr int kBetweenQuestionsMs = 100;
  pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  // A FIFO without a writer would be read as one that has ended.
  while (::poll(&waiting, 1, kBetweenQuestionsMs) == 0) {
    if (stop_ && stop_()) return fs::system_error_of(EINTR, "stopped");
  }
  return {};
}

fs::Result<PackInput::Piece> PackInput::next_of_stream(std::span<std::byte> bytes) {
  Piece piece;
  while (piece.size < bytes.size()) {
    FRAMEFS_CHECK(wait_for_stream());
    const auto got = ::read(fd_.get(), bytes.data() + piece.size, bytes.size() - piece.size);
    // Another reader of a FIFO may have been faster.
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return fs::system_error("read", at_);
    if (got == 0) break;
    piece.size += static_cast<std::size_t>(got);
    at_ += static_cast<std::uint64_t>(got);
  }
  return piece;
}

}  // namespace framefs
