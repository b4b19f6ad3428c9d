#include "src/pack/pack_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/core/checked.h"
#include "codec/frame/frame_writer.h"
#include "fs/source/suffixes.h"
#include "src/cli/collected_log.h"
#include "src/cli/progress_bar.h"
#include "src/cli/stream_sink.h"
#include "src/pack/carried_attributes.h"
#include "src/pack/compare_sink.h"
#include "src/pack/pack_input.h"
#include "src/pack/pack_npy.h"
#include "src/pack/replacement_file.h"
#include "src/pack/temporary_folder.h"
#include "src/pack/unpacker.h"

namespace framefs {
namespace {

using codec::Result;
using codec::Status;

// The plain bytes of one chunk.
struct Piece {
  std::vector<std::byte> plain;
  PieceSource::Piece read;
};
// The chunks that are encoded at the same time.
using Batch = std::vector<Piece>;

// The encoder of one chunk of a batch, and its output.
struct FileLane {
  codec::ChunkEncoder encoder;
  std::vector<std::byte> stored;
  Result<std::size_t> stored_bytes = 0;
};

Status fill(PieceSource& input, Batch& batch) {
  for (auto& piece : batch) piece.read = {};
  for (auto& piece : batch) {
    FRAMEFS_TRY(piece.read, input.next(piece.plain));
    if (piece.read.size < piece.plain.size()) break;
  }
  return {};
}

std::uint64_t bytes_of(const Batch& batch) {
  std::uint64_t bytes = 0;
  for (const auto& piece : batch) bytes += piece.read.size;
  return bytes;
}

void encode(const codec::EncodeParams& params, Piece& piece, FileLane& lane) {
  lane.stored_bytes = 0;
  const auto [size, is_hole] = piece.read;
  // A hole whose size is no multiple of the item size must be stored as data.
  if (size == 0 || (is_hole && size % params.typesize == 0)) return;
  const auto plain = std::span(piece.plain).first(size);
  if (is_hole) std::ranges::fill(plain, std::byte{0});
  lane.stored_bytes = lane.encoder.encode(params, plain, lane.stored);
}

Status append(codec::FrameWriter& writer, const Batch& batch, const std::vector<FileLane>& lanes) {
  for (std::size_t i = 0; i < batch.size() && batch[i].read.size > 0; ++i) {
    FRAMEFS_TRY(const auto size, lanes[i].stored_bytes);
    if (size == 0) {
      FRAMEFS_CHECK(writer.append_special(codec::Special::zero,
                                          static_cast<std::uint32_t>(batch[i].read.size)));
    } else {
      FRAMEFS_CHECK(writer.append_chunk(std::span(lanes[i].stored).first(size)));
    }
  }
  return {};
}

// The parameters are chosen from the first piece that is not a hole.
Result<codec::EncodeParams> choose_params(const PackOptions& options, const Batch& first) {
  std::span<const std::byte> sample;
  for (const auto& piece : first) {
    if (piece.read.size == 0 || piece.read.is_hole) continue;
    sample = std::span(piece.plain).first(piece.read.size);
    break;
  }
  return codec::choose_params_by_trial(options.encode, options.hints, sample);
}

std::size_t batch_chunks(const PackOptions& options, std::optional<std::uint64_t> plain_bytes) {
  const std::size_t threads =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  if (!plain_bytes) return threads;
  return std::clamp<std::size_t>(*plain_bytes / options.chunksize + 1, 1, threads);
}

// A frame that would get too many checksums is refused before anything is packed.
Status check_room_for_checksums(const PackOptions& options, std::optional<std::uint64_t> size,
                                std::uint32_t chunksize) {
  const auto chunks = codec::div_ceil<std::uint64_t>(size.value_or(0), chunksize);
  if (!options.checksums || chunks <= codec::kMaxChecksums) return {};
  return codec::fail_value(codec::Errc::over_limit, "number of chunks with checksums", 0,
                           static_cast<std::int64_t>(chunks));
}

// The header of a frame is written last, but a stream is written in order.  So the frame is first
// made in an unnamed file.
Result<fs::UniqueFd> open_unnamed_file() {
  fs::UniqueFd fd(::open(temporary_folder().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) fd = fs::UniqueFd(::memfd_create("framefs-pack", MFD_CLOEXEC));
  if (!fd) return fs::system_error("temporary file");
  return fd;
}

// An error of the unnamed file is none of the stream.
std::unexpected<codec::Error> failed_in_unnamed_file(codec::Error error) {
  if (std::exchange(error.is_of_target, false)) {
    error.field = "the temporary file in TMPDIR, which is /tmp by default";
  }
  return std::unexpected(error);
}

Status copy_to_stream(int from, std::uint64_t size, int to) {
  StreamSink stream(to);
  std::vector<std::byte> buffer(1u << 20);
  for (std::uint64_t at = 0; at < size;) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), size - at));
    FRAMEFS_CHECK(fs::read_fully(from, at, piece));
    FRAMEFS_CHECK(stream.write_at(at, piece));
    at += piece.size();
  }
  return {};
}

// A frame with the suffix of another content is shown as the bytes of its chunks, which are not
// those of a .npy file.
bool may_name_array(const std::string& frame) {
  const auto expected = fs::expected_content(frame);
  return expected == fs::Expected::array || expected == fs::Expected::nothing;
}

bool is_npy(const PackInput& input) { return input.file() && is_npy_name(input.name()); }

// Packs into the frame of an array, or of bytes.
Result<Packed> pack_any(PackInput& input, const std::string& to, codec::ByteSink& sink,
                        const PackOptions& options, fs::WorkerPool& pool) {
  if (is_npy(input) && may_name_array(to)) {
    FRAMEFS_TRY(const auto packed, pack_npy(input.fd(), sink, input.name(), options, pool));
    if (packed) return *packed;
  }
  return pack_pieces(input, sink, input.name(), options, pool);
}

}  // namespace

std::uint32_t chunksize_of(const PackOptions& options) {
  const std::uint32_t item = options.hints.typesize.value_or(8);
  return std::max(options.chunksize / item * item, std::uint32_t{1});
}

Result<Packed> pack_pieces(PieceSource& input, codec::ByteSink& sink, const std::string& name,
                           const PackOptions& options, fs::WorkerPool& pool,
                           const FrameLayers& layers) {
  const auto chunksize = chunksize_of(options);
  const auto chunks = batch_chunks(options, input.size());
  // A small file is one chunk.
  const auto room = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(input.size().value_or(chunksize), 1, chunksize));
  Batch now(chunks);
  for (auto& piece : now) piece.plain.resize(room);
  auto next = now;
  std::vector<FileLane> lanes(chunks);
  for (auto& lane : lanes) lane.stored.resize(codec::ChunkPlan::max_bytes(room));
  FRAMEFS_CHECK(fill(input, now));

  codec::FrameParams params{.encode = options.encode,
                            .chunksize = chunksize,
                            .metalayers = layers.metalayers,
                            .vlmetalayers = layers.vlmetalayers,
                            .checksums = options.checksums};
  FRAMEFS_CHECK(check_room_for_checksums(options, input.size(), chunksize));
  FRAMEFS_TRY(params.encode, choose_params(options, now));
  FRAMEFS_TRY(auto writer, codec::FrameWriter::create(sink, params));
  ProgressBar progress(name, input.size(), options.quiet);
  while (now.front().read.size > 0) {
    if (options.stop && options.stop()) return fs::system_error_of(EINTR, "stopped");
    // The next batch is read while this batch is encoded, by a thread of its own: to read may be to
    // decode, which waits for the threads of the pool.  A small file has no next batch.
    const bool is_last = input.size() && writer.nbytes() + bytes_of(now) >= *input.size();
    const auto how = is_last ? std::launch::deferred : std::launch::async;
    auto read = std::async(how, [&] { return fill(input, next); });
    pool.run(chunks, [&](std::size_t i) { encode(params.encode, now[i], lanes[i]); });
    const auto is_read = read.get();
    FRAMEFS_CHECK(append(writer, now, lanes));
    FRAMEFS_CHECK(is_read);
    progress.update(writer.nbytes());
    std::swap(now, next);
  }
  FRAMEFS_TRY(const auto stored, writer.finish());
  return Packed{.plain = writer.nbytes(), .stored = stored};
}

Result<Packed> pack_to_stream(PackInput& input, int stream, const std::string& to,
                              const PackOptions& options, fs::WorkerPool& pool) {
  FRAMEFS_TRY(auto fd, open_unnamed_file());
  fs::FileSink sink(std::move(fd));
  const auto packed = pack_any(input, to, sink, options, pool);
  if (!packed) return failed_in_unnamed_file(packed.error());
  FRAMEFS_CHECK(input.check_unchanged());
  FRAMEFS_CHECK(copy_to_stream(sink.fd(), packed->stored, stream));
  return packed;
}

Result<Packed> pack_file(PackInput& input, const fs::Place& to, const PackOptions& options,
                         fs::WorkerPool& pool) {
  FRAMEFS_TRY(auto file, ReplacementFile::create(to, options.may_replace));
  file.replaces_frame(options.locking);
  FRAMEFS_TRY(const auto packed, pack_any(input, to.name(), file.sink(), options, pool));
  FRAMEFS_CHECK(input.check_unchanged());
  if (options.verify && input.file()) {
    FRAMEFS_CHECK(verify_packed(file.temporary(), to.name(), input, options));
  }
  if (input.file()) {
    FRAMEFS_CHECK(carry_attributes(input.fd(), *input.file(), file.sink().fd()));
  }
  FRAMEFS_CHECK(file.publish(input.file()));
  return packed;
}

std::string packed_name(const fs::Place& file) {
  const auto& name = file.name();
  const auto stem = std::filesystem::path(name).stem();
  return find_npy_header(file) ? stem.string() + ".b2nd" : name + ".b2frame";
}

Status verify_packed(const fs::Place& frame, const std::string& to, const PackInput& original,
                     const PackOptions& options) {
  FRAMEFS_TRY(auto fd, fs::reopen(original.fd(), O_RDONLY));
  const fs::FileReader file(std::move(fd));
  const bool is_array = is_npy(original) && may_name_array(to);
  const auto array = is_array ? codec::read_npy_header(file) : std::nullopt;
  // The header of a .npy file can differ from the header that a mount shows.
  CompareSink sink(file.fd(), array ? array->data_at : 0);
  const UnpackOptions unpacking{
      .arrays = fs::ArrayViews::raw, .threads = options.threads, .quiet = options.quiet};
  CollectedLog log;
  FRAMEFS_TRY(const auto source, find_unpack_source(frame, unpacking, log.log()));
  const auto stop = [&options] { return options.stop && options.stop(); };
  FRAMEFS_TRY(const auto unpacker, Unpacker::open(source, unpacking, log.log(), stop,
                                                  [](const std::string&, const codec::Error&) {}));
  return unpacker.to_sink(sink);
}

}  // namespace framefs
