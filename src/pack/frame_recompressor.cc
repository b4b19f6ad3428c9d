#include "src/pack/frame_recompressor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "codec/array/array_meta_writer.h"
#include "codec/frame/metalayer_content.h"
#include "fs/core/files/file.h"
#include "fs/write/array_packer.h"
#include "fs/write/commit/kept_layers.h"
#include "fs/write/window_items.h"
#include "src/cli/progress_bar.h"
#include "src/compact/frame_target.h"
#include "src/pack/carried_attributes.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

using codec::Result;
using codec::Status;

// The bytes of a frame, piece by piece.
class DecodedPieces final : public PieceSource {
 public:
  explicit DecodedPieces(const DecodedFrame& frame) : frame_(frame) {}

  [[nodiscard]] std::optional<std::uint64_t> size() const noexcept override {
    return frame_.size();
  }
  fs::Result<Piece> next(std::span<std::byte> bytes) override {
    const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), frame_.size() - at_));
    if (piece.empty()) return Piece{};
    if (at_ >= data_at_) {
      FRAMEFS_TRY(data_at_, frame_.find_data(at_));
    }
    const bool is_hole = at_ + piece.size() <= data_at_;
    if (!is_hole) FRAMEFS_CHECK(frame_.bytes().read_at(at_, piece));
    at_ += piece.size();
    return Piece{.size = piece.size(), .is_hole = is_hole};
  }

 private:
  const DecodedFrame& frame_;
  std::uint64_t at_ = 0;
  std::uint64_t data_at_ = 0;  // all before it, from at_ on, is a hole
};

// The file of a frame, open for changes although it is only read: who may not change the frame may
// not replace it either.
struct OldFile {
  std::shared_ptr<const fs::FileReader> file;
  struct stat stat{};
};

Result<OldFile> open_old(const fs::Place& place) {
  auto fd = place.open(O_RDWR | O_NONBLOCK);
  if (!fd && fd.error().sys == EISDIR) {
    return fs::refusal(EISDIR,
                       "is a directory: a sparse frame is not recompressed; unpack it, and pack "
                       "the file");
  }
  if (!fd) return std::unexpected(fd.error());
  OldFile old;
  FRAMEFS_TRY(old.stat, fs::stat_of(fd->get()));
  if (!S_ISREG(old.stat.st_mode)) return fs::refusal(EINVAL, "is not a file");
  if (old.stat.st_nlink > 1) {
    return fs::refusal(EMLINK,
                       "has several hard links, which would lead to different frames; remove the "
                       "others first");
  }
  old.file = std::make_shared<const fs::FileReader>(std::move(*fd));
  return old;
}

Status check_recompressible(const DecodedFrame& old) {
  const auto& frame = old.frame();
  if (!frame) return std::unexpected(frame.error());
  if (frame->data_place().lies_elsewhere()) {
    return fs::refusal(EOPNOTSUPP, "has data that lie elsewhere, and is not recompressed");
  }
  if (frame->header().has_variable_chunks()) {
    return fs::refusal(EOPNOTSUPP, "has chunks that vary in size, and is not recompressed");
  }
  FRAMEFS_TRY(const auto array, old.array());
  const auto* const layer = codec::find_array_layer(frame->metalayers());
  if (array && layer->name != codec::kB2ndMetalayer) {
    return fs::refusal(EOPNOTSUPP, "is an array of Caterva; unpack it, and pack the file");
  }
  return {};
}

// Gives the new file all attributes of the old one, the time of access among them.
Status carry_all(const OldFile& old, int to) {
  const auto& st = old.stat;
  std::ignore = ::fchown(to, st.st_uid, st.st_gid);
  FRAMEFS_TRY(const auto made, fs::stat_of(to));
  if (made.st_uid != st.st_uid || made.st_gid != st.st_gid) {
    return fs::refusal(EPERM, "has an owner or a group that this user cannot give to a new file");
  }
  FRAMEFS_CHECK(carry_attributes(old.file->fd(), st, to));
  return set_times(to, st);
}

bool is_same(const std::vector<codec::NamedContent>& one,
             const std::vector<codec::NamedContent>& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
    return a.name == b.name && a.content == b.content;
  });
}

Result<FrameLayers> layers_of(const DecodedFrame& frame) {
  const auto& source = *frame.origin().source;
  FrameLayers layers;
  FRAMEFS_TRY(layers.metalayers, fs::kept_metalayers(*frame.frame(), source));
  FRAMEFS_TRY(layers.vlmetalayers, fs::kept_vlmetalayers(*frame.frame(), source, {}));
  return layers;
}

Status check_same_layers(const DecodedFrame& old, const DecodedFrame& made) {
  constexpr const char* kOther = "the new frame does not have the metalayers of the old one";
  FRAMEFS_TRY(const auto a, layers_of(old));
  FRAMEFS_TRY(const auto b, layers_of(made));
  FRAMEFS_TRY([[maybe_unused]] const auto layout, made.array());
  bool same = is_same(a.metalayers, b.metalayers) && is_same(a.vlmetalayers, b.vlmetalayers);
  const auto& was = old.frame()->array();
  const auto& is = made.frame()->array();
  same = same && was.has_value() == is.has_value();
  if (same && was) {
    same = (*was)->dtype == (*is)->dtype && (*was)->dtype_format == (*is)->dtype_format &&
           std::ranges::equal((*was)->array_dims(), (*is)->array_dims());
  }
  same = same && old.frame()->header().typesize == made.frame()->header().typesize;
  return same ? Status{} : codec::fail(codec::Errc::checksum, kOther);
}

}  // namespace

Result<std::uint64_t> FrameRecompressor::write_array(const DecodedFrame& old,
                                                     const codec::ArrayLayout& layout,
                                                     FrameLayers layers, codec::ByteSink& sink,
                                                     const std::string& name) const {
  const auto& frame = *old.frame();
  const auto& meta = **frame.array();
  const auto dims = meta.array_dims();
  const codec::NpyHeader header{.dtype = meta.dtype,
                                .typesize = frame.header().typesize,
                                .shape = {dims.begin(), dims.end()},
                                .data_at = 0};
  fs::ArrayPacking packing{.encode = options_.encode,
                           .hints = options_.hints,
                           .chunksize = sizes_.chunk.value_or(frame.header().chunksize),
                           .checksums = options_.checksums || fs::has_checksums(frame),
                           .metalayers = std::move(layers.metalayers),
                           .vlmetalayers = std::move(layers.vlmetalayers),
                           .lanes = options_.threads != 0
                                        ? options_.threads
                                        : std::max(1U, std::thread::hardware_concurrency())};
  fs::ArrayPlan plan{.metalayer = {}, .meta = meta, .layout = layout, .chunk_bytes = 0};
  if (!sizes_.chunk && !sizes_.block) {
    const auto* const layer = codec::find_array_layer(frame.metalayers());
    FRAMEFS_TRY(plan.metalayer, codec::read_metalayer(*old.origin().source, *layer));
    plan.chunk_bytes = frame.header().chunksize;
  } else if (meta.dtype_format != 0 || meta.dtype.empty()) {
    return fs::refusal(EOPNOTSUPP,
                       "is an array without a type of NumPy, which keeps its chunks and blocks");
  } else {
    FRAMEFS_TRY(plan, fs::plan_array(header, packing));
  }
  fs::WindowItems items(old.bytes());
  ProgressBar progress(name, plan.layout.chunk_count() * plan.chunk_bytes, options_.quiet);
  return fs::pack_array(items, header, plan, packing, sink, pool_, [&](std::uint64_t done) {
    progress.update(done);
    return !(options_.stop && options_.stop());
  });
}

Result<std::uint64_t> FrameRecompressor::write(const DecodedFrame& old, codec::ByteSink& sink,
                                               const std::string& name) const {
  FRAMEFS_TRY(auto layers, layers_of(old));
  FRAMEFS_TRY(const auto array, old.array());
  if (array) return write_array(old, *array, std::move(layers), sink, name);
  const auto& frame = *old.frame();
  auto options = options_;
  options.hints.typesize = frame.header().typesize;
  options.chunksize = sizes_.chunk.value_or(frame.header().chunksize);
  options.checksums = options.checksums || fs::has_checksums(frame);
  DecodedPieces pieces(old);
  FRAMEFS_TRY(const auto packed, pack_pieces(pieces, sink, name, options, pool_, layers));
  return packed.stored;
}

Status FrameRecompressor::verify(const DecodedFrame& old, int file, const std::string& name) const {
  FRAMEFS_TRY(auto fd, fs::reopen(file, O_RDONLY));
  const DecodedFrame made(
      fs::contiguous_origin(std::make_shared<const fs::FileReader>(std::move(fd)), name), pool_,
      log_);
  if (!made.frame()) return std::unexpected(made.frame().error());
  FRAMEFS_CHECK(check_same_layers(old, made));
  return check_same_bytes(old, made, options_.stop);
}

Result<TransferredBytes> FrameRecompressor::recompress(const fs::Place& place) const {
  FRAMEFS_TRY(const auto old, open_old(place));
  const auto before = static_cast<std::uint64_t>(old.stat.st_size);
  const DecodedFrame frame(fs::contiguous_origin(old.file, place.path()), pool_, log_);
  FRAMEFS_CHECK(check_recompressible(frame));
  if (frame.size() == 0) return TransferredBytes{.before = before, .after = before};
  FRAMEFS_TRY(auto file, ReplacementFile::create(place, true));
  file.replaces_frame(options_.locking, fs::identity_of(old.stat));
  FRAMEFS_TRY(const auto stored, write(frame, file.sink(), place.name()));
  FRAMEFS_CHECK(verify(frame, file.sink().fd(), place.path()));
  FRAMEFS_CHECK(carry_all(old, file.sink().fd()));
  FRAMEFS_CHECK(file.publish(old.stat));
  return TransferredBytes{.before = before, .after = stored};
}

}  // namespace framefs
