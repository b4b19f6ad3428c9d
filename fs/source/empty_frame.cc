#include "fs/source/empty_frame.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "codec/frame/frame_writer.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

constexpr std::uint32_t kChunksizeOfEmptyFrame = 4u << 20;

class OwnedBytes final : public codec::ByteSource {
 public:
  explicit OwnedBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)), source_(bytes_) {}
  codec::Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return source_.read_at(offset, out);
  }
  codec::Result<std::uint64_t> size() const override { return source_.size(); }

 private:
  const std::vector<std::byte> bytes_;
  const codec::MemorySource source_;
};

}  // namespace

std::shared_ptr<const codec::ByteSource> empty_frame() {
  static const auto kFrame = std::make_shared<const OwnedBytes>(
      codec::encode_empty_frame({.encode = {}, .chunksize = kChunksizeOfEmptyFrame}).value());
  return kFrame;
}

bool is_empty_frame(const codec::ByteSource& source, std::string_view path) {
  if (expected_content(path.substr(path.rfind('/') + 1)) != Expected::frame) return false;
  const auto size = source.available_from(0);
  return size && *size == 0;
}

}  // namespace framefs::fs
