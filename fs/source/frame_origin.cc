#include "fs/source/frame_origin.h"

#include <fcntl.h>

#include <utility>

#include "fs/source/chunk_files.h"
#include "fs/source/empty_frame.h"
#include "fs/source/sparse_frame.h"

namespace framefs::fs {

FrameOrigin contiguous_origin(std::shared_ptr<const codec::ByteSource> source, std::string name) {
  if (is_empty_frame(*source, name)) source = empty_frame();
  return {codec::FrameType::contiguous, source, std::move(source), std::move(name)};
}

Result<FrameOrigin> sparse_origin(int folder, std::shared_ptr<const FileReader> index,
                                  std::string name) {
  UniqueFd own(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (!own) return system_error("dup");
  return FrameOrigin{.type = codec::FrameType::sparse,
                     .source = index,
                     .chunks = std::make_shared<const ChunkFiles>(std::move(own), index),
                     .name = std::move(name)};
}

Result<codec::Frame> open_frame_at(const FrameOrigin& origin, const codec::Limits& limits) {
  return origin.type == codec::FrameType::sparse ? codec::Frame::open_sparse(*origin.source, limits)
                                                 : codec::Frame::open(*origin.source, limits);
}

}  // namespace framefs::fs
