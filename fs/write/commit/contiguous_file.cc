#include "fs/write/commit/contiguous_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "codec/frame/trailer_layout.h"
#include "fs/core/files/file_sink.h"

namespace framefs::fs {

Status ContiguousFile::learn(const struct stat& st, const codec::ByteSource& bytes,
                             std::uint64_t header_len, codec::ByteRange tail) {
  header_len_ = header_len;
  if (st.st_size > 0) return state_.learn(st, bytes, header_len, tail);
  first_bytes_.resize(tail.offset + tail.size);
  FRAMEFS_CHECK(bytes.read_at(0, first_bytes_));
  state_.learn_empty(st);
  return {};
}

Status ContiguousFile::store_first() {
  Head head{};
  std::copy_n(first_bytes_.begin(), head.size(), head.begin());
  CommittedState::Publication publication(state_, head);
  FRAMEFS_CHECK(store(0, first_bytes_));
  const auto tail = std::span(first_bytes_).subspan(header_len_);
  publication.done({header_len_, tail.size()}, CommittedState::checksum(tail));
  first_bytes_.clear();
  return {};
}

Status ContiguousFile::store(std::uint64_t at, std::span<const std::byte> bytes) {
  CommittedState::Store store(state_, *file_, at + bytes.size());
  FRAMEFS_CHECK(write_fully(file_->fd(), at, bytes));
  store.done();
  return {};
}

Status ContiguousFile::publish(const Next& next) {
  Head head = next_head_.value_or(state_.head());
  codec::patch_frame_header(next.sizes, head);
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), next.rest.begin(), next.rest.end());
  CommittedState::Publication publication(state_, head);
  FRAMEFS_CHECK(store(0, bytes));
  next_head_.reset();
  publication.done(next.tail, next.tail_checksum);
  return {};
}

Status ContiguousFile::truncate(std::uint64_t end) {
  state_.begin_truncate(end);
  if (::ftruncate(file_->fd(), static_cast<off_t>(end)) != 0) return system_error("ftruncate");
  state_.truncated(*file_, end);
  return {};
}

Status ContiguousFile::sync() const {
  if (::fdatasync(file_->fd()) != 0) return system_error("fdatasync");
  return {};
}

Result<bool> ContiguousFile::has(codec::ByteRange at, std::span<const std::byte> bytes) const {
  if (bytes.size() != at.size) return false;
  std::vector<std::byte> known(bytes.size());
  FRAMEFS_CHECK(file_->read_at(at.offset, known));
  return std::ranges::equal(known, bytes);
}

void ContiguousFile::set_params(const codec::FrameHeader& header) {
  Head head{};
  codec::encode_frame_header(header, false, head);
  next_head_ = head;
}

void ContiguousFile::set_chunksize(std::uint32_t chunksize) {
  Head head = next_head_.value_or(state_.head());
  codec::patch_frame_chunksize(chunksize, head);
  next_head_ = head;
}

Result<std::vector<std::byte>> ContiguousFile::read_trailer(
    const codec::FrameHeader& header) const {
  std::array<std::byte, codec::kTrailerTailBytes> tail{};
  const auto tail_at = header.frame_len - tail.size();
  FRAMEFS_CHECK(file_->read_at(tail_at, tail));
  FRAMEFS_TRY(const auto length, codec::parse_trailer_length(tail, tail_at, header.header_len));
  std::vector<std::byte> trailer(length);
  FRAMEFS_CHECK(file_->read_at(header.frame_len - trailer.size(), trailer));
  return trailer;
}

}  // namespace framefs::fs
