#include "src/cli/stream_sink.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "fs/core/files/file.h"

namespace framefs {

using codec::Status;

Status StreamSink::append(std::span<const std::byte> bytes) {
  end_ += bytes.size();
  while (!bytes.empty()) {
    const auto put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return codec::of_target(fs::system_error("write"));
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Status StreamSink::truncate(std::uint64_t size) {
  static constexpr std::array<std::byte, 64u << 10> kZeros{};
  if (size < end_) return codec::fail(codec::Errc::internal, "stream", size);
  while (end_ < size) {
    const auto zeros = std::min<std::uint64_t>(size - end_, kZeros.size());
    FRAMEFS_CHECK(append(std::span(kZeros).first(zeros)));
  }
  return {};
}

Status StreamSink::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  FRAMEFS_CHECK(truncate(offset));
  return append(bytes);
}

}  // namespace framefs
