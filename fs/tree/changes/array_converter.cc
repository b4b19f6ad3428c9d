#include "fs/tree/changes/array_converter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "codec/array/npy_header.h"
#include "codec/array/npy_input.h"
#include "fs/core/files/file_attributes.h"
#include "fs/core/files/file_sink.h"
#include "fs/tree/names/shown_stat.h"
#include "fs/view/cached_frame.h"
#include "fs/view/frame_view.h"
#include "fs/view/view_source.h"
#include "fs/write/array_packer.h"
#include "fs/write/commit/kept_layers.h"
#include "fs/write/window_items.h"

namespace framefs::fs {
namespace {

// The chunks that are encoded at a time, with their buffers.
constexpr std::uint64_t kLaneBytes = 16u << 20;

// Whether a mount shows the array with the same header.
bool shows_same_header(const codec::ByteSource& file, const codec::NpyHeader& header,
                       const ArrayPlan& plan) {
  const auto shown = codec::npy_header(plan.meta, header.typesize);
  if (shown.size() != header.data_at) return false;
  std::vector<std::byte> written(shown.size());
  const auto is_same = [](std::byte b, char c) { return b == static_cast<std::byte>(c); };
  return file.read_at(0, written) && std::ranges::equal(written, shown, is_same);
}

// Whether the failure says that the file is in use, or was changed or moved.  Its next close, or
// the next rename, leads to another attempt.
bool is_interference(const Error& error) {
  if (error.kind != Errc::system) return false;
  return error.sys == EBUSY || error.sys == ESTALE || error.sys == EINTR || error.sys == ENOENT;
}

}  // namespace

ArrayConverter::ArrayConverter(const Parts& parts) : parts_(parts) {
  parts_.candidates.start([this] { convert_ready(false); });
}

void ArrayConverter::finish(const std::vector<FileKey>& committed) {
  parts_.candidates.stop();
  for (const auto& file : committed) parts_.candidates.note(file);
  convert_ready(true);
}

// `has_ended`: no requests are served any more.
void ArrayConverter::convert_ready(bool has_ended) {
  for (const auto& [file, id] : parts_.candidates.take_ready()) {
    if (parts_.writes.table.find(file)) continue;  // its end is noted
    const auto node = parts_.locator.nodes().find(id);
    const bool is_frame =
        node && (*node)->key.shown_as == ShownAs::frame && file_key(**node) == file;
    const auto rule = is_frame ? parts_.candidates.rule_for(**node) : std::nullopt;
    if (rule) {
      const auto done = convert(**node, *rule, has_ended);
      if (!done && !is_interference(done.error())) {
        parts_.writes.reads.log.failure(parts_.locator.name_for_log(**node), "no array",
                                        done.error());
      }
    }
    parts_.candidates.drop(file);
  }
}

Status ArrayConverter::convert(Node& node, const ArrayCandidates::Rule& rule, bool has_ended) {
  FRAMEFS_TRY(const auto file, parts_.locator.open_file(node));
  FRAMEFS_TRY(const auto st, file.content_stat());
  if (file.is_sparse() || st.st_nlink != 1) return {};
  const auto from = identity_of(st);
  FRAMEFS_TRY(auto origin, parts_.containers.origin_of(node, file));
  const auto source = origin.source;
  // Verified, because damaged bytes must not get new checksums.
  const auto chunks =
      std::make_shared<const CachedFrame>(std::move(origin), parts_.writes.reads.content_ids.next(),
                                          parts_.writes.reads.services(true));
  const auto& frame = chunks->frame();
  // The array would lack the frame's own metalayers.
  if (!frame || !frame->metalayers().empty()) return {};
  const FrameView view(chunks);
  const ViewSource bytes(view, frame->nbytes());
  const auto header = codec::read_npy_header(bytes);
  if (!header) return {};
  const auto& options = rule.frame;
  ArrayPacking packing{.encode = options.encode,
                       .hints = options.hints,
                       .chunksize = options.chunksize,
                       .checksums = options.checksums || has_checksums(*frame)};
  FRAMEFS_TRY(packing.vlmetalayers, kept_vlmetalayers(*frame, *source, parts_.writes.reads.limits));
  FRAMEFS_TRY(const auto plan, plan_array(*header, packing));
  if (!shows_same_header(bytes, *header, plan)) return {};
  packing.lanes = std::clamp<std::size_t>(kLaneBytes / (2 * std::size_t{plan.chunk_bytes}), 1,
                                          parts_.writes.workers.threads());
  const auto place = parts_.locator.nodes().place_of(node);
  FRAMEFS_TRY(const auto folder, parts_.locator.open(*place.parent, O_PATH | O_DIRECTORY));
  UniqueFd unnamed(::openat(folder.get(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!unnamed) return system_error("create");
  stop_access_times(unnamed.get());
  FileSink sink(std::move(unnamed));
  const auto is_unused = [&](std::uint64_t) {
    const auto now = file.content_stat();
    const bool is_closed =
        node.state.with([](Node::State& state) { return state.handles.want_none(); });
    return now && identity_of(*now) == from && (has_ended || is_closed);
  };
  WindowItems items(bytes);
  FRAMEFS_CHECK(pack_array(items, *header, plan, packing, sink, parts_.writes.workers, is_unused));
  FRAMEFS_CHECK(copy_attributes(file.fd(), sink.fd()));
  FRAMEFS_CHECK(sink.sync());
  return parts_.places.put(node, rule.shown_name, sink.fd(), from, has_ended);
}

}  // namespace framefs::fs
