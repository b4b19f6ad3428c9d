#include "src/pack/pack_estimate.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "codec/chunk/chunk_encoder.h"
#include "codec/core/byte_sink.h"
#include "codec/core/checked.h"
#include "codec/frame/frame_writer.h"
#include "src/pack/pack_npy.h"

namespace framefs {
namespace {

using codec::Result;
using codec::Status;

// Fewer samples that are too many bytes do not exist.
constexpr std::uint64_t kMinSampledPieces = kMaxSampledBytes / kSampledPieceBytes;
static_assert(kMinSampledPieces <= kMaxSampledPieces);

// A piece of a chunk of a file.
struct SampledPiece {
  std::size_t file = 0;     // its index in the sampled files
  std::uint64_t index = 0;  // in the file
  std::uint64_t hits = 0;   // the stretches whose middle it has
  std::uint64_t plain = 0;
  Result<std::uint64_t> stored = 0;
};
struct SampledFile {
  const EstimatedFile* file = nullptr;
  Result<codec::EncodeParams> params{};
};
struct PackSample {
  std::vector<SampledFile> files;
  std::vector<SampledPiece> pieces;  // in order
  std::uint64_t bytes = 0;
};

// A destination that keeps nothing.
class NoSink final : public codec::ByteSink {
 public:
  codec::Status write_at(std::uint64_t, std::span<const std::byte>) override { return {}; }
  codec::Status sync() override { return {}; }
  codec::Status truncate(std::uint64_t) override { return {}; }
};

// The bytes of a frame besides its chunks: of header, index and trailer.
class FrameOverhead {
 public:
  static Result<FrameOverhead> of(const PackOptions& options) {
    FrameOverhead overhead(options.checksums);
    for (const bool has_chunk : {false, true}) {
      NoSink sink;
      const auto chunksize = chunksize_of(options);
      FRAMEFS_TRY(auto writer, codec::FrameWriter::create(sink, {.encode = options.encode,
                                                                 .chunksize = chunksize,
                                                                 .checksums = options.checksums}));
      if (has_chunk) FRAMEFS_CHECK(writer.append_special(codec::Special::zero, chunksize));
      FRAMEFS_TRY(overhead.bytes_[has_chunk ? 1 : 0], writer.finish());
    }
    return overhead;
  }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t chunks) const {
    if (chunks == 0) return bytes_[0];
    constexpr std::uint64_t kIndexEntry = 8;
    constexpr std::uint64_t kChecksumEntry = 12;
    return bytes_[1] + (chunks - 1) * (kIndexEntry + (has_checksums_ ? kChecksumEntry : 0));
  }

 private:
  explicit FrameOverhead(bool has_checksums) : has_checksums_(has_checksums) {}
  bool has_checksums_;
  std::uint64_t bytes_[2] = {0, 0};
};

std::uint64_t piece_size(const EstimatedFile& file, std::uint64_t index, std::uint64_t unit) {
  return std::min(unit, file.size - index * unit);
}

// Takes the piece at a place, or notes that the last one has it, too.
void take(PackSample& sample, const EstimatedFile& file, std::uint64_t index, std::uint64_t unit) {
  const bool is_new_file = sample.files.empty() || sample.files.back().file != &file;
  if (!is_new_file && sample.pieces.back().index == index) {
    ++sample.pieces.back().hits;
    return;
  }
  if (is_new_file) sample.files.push_back({.file = &file});
  const auto size = piece_size(file, index, unit);
  sample.pieces.push_back(
      {.file = sample.files.size() - 1, .index = index, .hits = 1, .plain = size});
  sample.bytes += size;
}

// All pieces, if these are few.
std::optional<PackSample> take_all(const std::vector<EstimatedFile>& files, std::uint64_t unit) {
  PackSample sample;
  for (const auto& file : files) {
    for (std::uint64_t i = 0; i * unit < file.size; ++i) {
      take(sample, file, i, unit);
      if (sample.pieces.size() > kMaxSampledPieces || sample.bytes > kMaxSampledBytes) return {};
    }
  }
  return sample;
}

// The pieces in the middle of each of `count` stretches.
PackSample take_some(const std::vector<EstimatedFile>& files, std::uint64_t all, std::uint64_t unit,
                     std::uint64_t count) {
  PackSample sample;
  std::uint64_t begin = 0;  // of the file, in the bytes of all files
  std::uint64_t taken = 0;
  const auto stretch = static_cast<double>(all) / static_cast<double>(count);
  const auto middle = [&] {
    return std::min(all - 1,
                    static_cast<std::uint64_t>((static_cast<double>(taken) + 0.5) * stretch));
  };
  for (const auto& file : files) {
    for (; taken < count && middle() < begin + file.size; ++taken) {
      take(sample, file, (middle() - begin) / unit, unit);
    }
    begin += file.size;
  }
  return sample;
}

// The beginning of the data is what pack_file() chooses the parameters by.
Result<codec::EncodeParams> choose_for(const EstimatedFile& file, const PackOptions& options,
                                       std::uint64_t unit) {
  FRAMEFS_TRY(const auto place, file.place());
  FRAMEFS_TRY(const auto fd, place.open(O_RDONLY | O_NONBLOCK));
  auto hints = options.hints;
  if (const auto array = find_npy_header(place)) hints.typesize = array->typesize;
  const auto data = ::lseek(fd.get(), 0, SEEK_DATA);
  const auto at = data < 0 ? 0 : static_cast<std::uint64_t>(data) / unit * unit;
  std::vector<std::byte> bytes(at < file.size ? piece_size(file, at / unit, unit) : 0);
  FRAMEFS_CHECK(fs::read_fully(fd.get(), at, bytes));
  return codec::choose_params_by_trial(options.encode, hints, bytes);
}

Result<std::uint64_t> compress(const EstimatedFile& file, const SampledPiece& piece,
                               const codec::EncodeParams& params, std::uint64_t unit) {
  FRAMEFS_TRY(const auto place, file.place());
  FRAMEFS_TRY(const auto fd, place.open(O_RDONLY | O_NONBLOCK));
  const auto at = piece.index * unit;
  const auto data = ::lseek(fd.get(), static_cast<off_t>(at), SEEK_DATA);
  const bool is_hole =
      data < 0 ? errno == ENXIO : static_cast<std::uint64_t>(data) >= at + piece.plain;
  if (is_hole) return 0;
  std::vector<std::byte> plain(piece.plain);
  FRAMEFS_CHECK(fs::read_fully(fd.get(), at, plain));
  std::vector<std::byte> out(codec::ChunkPlan::max_bytes(plain.size()));
  codec::ChunkEncoder encoder;
  return encoder.encode(params, plain, out);
}

// Compresses the sample.  Errors: EINTR.
Status measure(PackSample& sample, const PackOptions& options, std::uint64_t unit,
               fs::WorkerPool& pool) {
  const auto stopped = [&] { return options.stop && options.stop(); };
  const Result<codec::EncodeParams> never = fs::system_error_of(EINTR, "stopped");
  pool.run(sample.files.size(), [&](std::size_t i) {
    auto& file = sample.files[i];
    file.params = stopped() ? never : choose_for(*file.file, options, unit);
  });
  pool.run(sample.pieces.size(), [&](std::size_t i) {
    auto& piece = sample.pieces[i];
    const auto& [file, params] = sample.files[piece.file];
    if (!params || stopped()) {
      piece.stored = std::unexpected(params ? never.error() : params.error());
    } else {
      piece.stored = compress(*file, piece, *params, unit);
    }
  });
  return stopped() ? Status(std::unexpected(never.error())) : Status{};
}

// The stored bytes of all pieces of all files, and two standard errors of them.  A stretch stands
// for the plain bytes in its middle, so that each weighs the same.
std::pair<double, double> extrapolate(const PackSample& sample, std::uint64_t all) {
  double hits = 0;
  double sum = 0;
  double squares = 0;
  double pieces = 0;
  for (const auto& piece : sample.pieces) {
    if (!piece.stored) continue;
    const auto weight = static_cast<double>(piece.hits);
    const auto ratio = static_cast<double>(*piece.stored) / static_cast<double>(piece.plain);
    hits += weight;
    sum += weight * ratio;
    squares += weight * ratio * ratio;
    ++pieces;
  }
  if (hits == 0) return {0, 0};
  const auto mean = sum / hits;
  const auto variance = std::max(squares / hits - mean * mean, 0.0);
  const auto total = static_cast<double>(all);
  const auto deviation = pieces > 1 ? std::sqrt(variance / (pieces - 1)) : 1.0;
  return {mean * total, 2 * deviation * total};
}

}  // namespace

fs::Result<fs::Place> EstimatedFile::place() const {
  return tree != nullptr ? tree->place(path) : fs::Place::given(path);
}

Result<PackEstimate> estimate_packing(
    const std::vector<EstimatedFile>& files, const PackOptions& options, fs::WorkerPool& pool,
    const std::function<void(const std::string& path, const codec::Error& error)>& fail) {
  PackEstimate estimate{.files = files.size()};
  FRAMEFS_TRY(const auto overhead, FrameOverhead::of(options));
  const std::uint64_t chunksize = chunksize_of(options);
  const auto unit = std::min(chunksize, kSampledPieceBytes);
  double packed = 0;
  for (const auto& file : files) {
    estimate.bytes += file.size;
    packed += static_cast<double>(overhead.bytes(codec::div_ceil(file.size, chunksize)));
  }
  auto all = take_all(files, unit);
  auto sample = all ? std::move(*all) : PackSample{};
  for (auto count = kMaxSampledPieces; !all && count >= kMinSampledPieces; count /= 2) {
    sample = take_some(files, estimate.bytes, unit, count);
    if (sample.bytes <= kMaxSampledBytes) break;
  }
  FRAMEFS_CHECK(measure(sample, options, unit, pool));

  estimate.is_complete = all.has_value();
  std::vector<bool> is_read(sample.files.size(), false);
  std::vector<bool> has_failed(sample.files.size(), false);
  double exact = 0;
  for (const auto& piece : sample.pieces) {
    if (piece.stored) {
      is_read[piece.file] = true;
      ++estimate.sampled_pieces;
      estimate.sampled_bytes += piece.plain;
      exact += static_cast<double>(*piece.stored);
    } else if (!has_failed[piece.file]) {
      has_failed[piece.file] = true;
      estimate.is_complete = false;
      const auto place = sample.files[piece.file].file->place();
      const auto& path = sample.files[piece.file].file->path;
      fail(place ? place->path() : path, piece.stored.error());
    }
  }
  estimate.sampled_files = static_cast<std::uint64_t>(std::ranges::count(is_read, true));
  const auto [stored, uncertainty] = extrapolate(sample, estimate.bytes);
  packed += estimate.is_complete ? exact : stored;
  estimate.packed_bytes = static_cast<std::uint64_t>(packed);
  if (!estimate.is_complete) estimate.uncertainty_bytes = static_cast<std::uint64_t>(uncertainty);
  return estimate;
}

}  // namespace framefs
