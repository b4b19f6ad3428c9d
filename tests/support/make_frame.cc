// framefs_make_frame: packs plain files into frames, for end-to-end tests and benchmarks.  It reads
// and writes files one chunk at a time, but arrays as a whole.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/array_builder.h"
#include "tests/support/frame_builder.h"
#include "tests/support/sparse_frame_builder.h"

namespace framefs::test {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kUsage = R"(usage: framefs_make_frame [options] INPUT OUTPUT
       framefs_make_frame [options] --into FOLDER INPUT...
       framefs_make_frame [options] --rules SIZE OUTPUT

The second form writes FOLDER/NAME.b2frame for each INPUT; an INPUT that is a folder stands for the
files in it.  The third writes a frame of SIZE decoded bytes that stores none of them: its chunks are
zeros, NaNs and uninitialised in turn.

  --codec NAME      memcpy, blosclz, lz4, lz4hc, zlib, zstd       (zstd)
  --level N         of lz4hc, zlib and zstd                       (5)
  --typesize N      bytes of an item                              (1)
  --chunk SIZE      decoded size of a chunk, e.g. 1M              (1M)
  --block SIZE      decoded size of a block                       (64K)
  --filter NAME     none, shuffle, bitshuffle; delta, bytedelta: with shuffle     (none)
  --split           one stream per byte of an item
  --variable        chunks of varying size: a third of --chunk, two thirds, all of it, in turn
  --sparse          OUTPUT is the directory of a sparse frame
  --shape N,N...    INPUT is an array in C order, of items of --typesize bytes; with it go
  --chunkshape N,N...  --blockshape N,N...  --dtype TEXT            (|u1)
)";

constexpr std::uint64_t kMaxFrameBytes = std::uint64_t{1} << 50;

struct Options {
  ChunkSpec chunk;
  std::uint32_t chunk_bytes = 1u << 20;
  bool variable = false;
  bool sparse = false;
  std::optional<ArraySpec> array;
  std::uint64_t rules_bytes = 0;  // not 0: the third form
  std::optional<std::string> into;
  std::vector<std::string> inputs;
};

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value == 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const unsigned shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  if ((!unit.empty() && shift == 0) || value > (kMaxFrameBytes >> shift)) return std::nullopt;
  return value << shift;
}

template <class T>
bool pick(const std::map<std::string_view, T>& choices, std::string_view name, T& to) {
  const auto found = choices.find(name);
  if (found == choices.end()) return false;
  to = found->second;
  return true;
}

template <class T>
bool parse_dims(std::string_view text, std::vector<T>& dims) {
  while (true) {
    T dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc{}) return false;
    dims.push_back(dim);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return true;
    if (text.front() != ',') return false;
    text.remove_prefix(1);
  }
}

// Sets an option of the array; nothing if the option is not one of those.
std::optional<bool> set_array_option(Options& options, std::string_view name,
                                     std::string_view value) {
  if (name != "--shape" && name != "--chunkshape" && name != "--blockshape" && name != "--dtype") {
    return std::nullopt;
  }
  if (!options.array) options.array.emplace().padding = std::byte{0};  // as in real writers
  auto& array = *options.array;
  if (name == "--shape") return parse_dims(value, array.shape);
  if (name == "--chunkshape") return parse_dims(value, array.chunkshape);
  if (name == "--blockshape") return parse_dims(value, array.blockshape);
  array.dtype = value;
  return true;
}

bool set_option(Options& options, std::string_view name, std::string_view value) {
  static const std::map<std::string_view, Codec> kCodecs = {
      {"memcpy", Codec::memcpy}, {"blosclz", Codec::blosclz}, {"lz4", Codec::lz4},
      {"lz4hc", Codec::lz4hc},   {"snappy", Codec::snappy},   {"zlib", Codec::zlib},
      {"zstd", Codec::zstd}};
  static const std::map<std::string_view, std::vector<Filter>> kFilters = {
      {"none", {}},
      {"shuffle", {Filter::shuffle}},
      {"bitshuffle", {Filter::bitshuffle}},
      {"delta", {Filter::delta, Filter::shuffle}},
      {"bytedelta", {Filter::shuffle, Filter::bytedelta}}};
  if (name == "--codec") return pick(kCodecs, value, options.chunk.codec);
  if (name == "--filter") return pick(kFilters, value, options.chunk.filters);
  if (name == "--into") {
    options.into = value;
    return true;
  }
  if (const auto done = set_array_option(options, name, value)) return *done;
  const auto number = parse_size(value);
  if (!number) return false;
  if (name == "--rules") {
    options.rules_bytes = *number;
    return true;
  }
  if (*number > 0x7fffffff) return false;
  const auto size = static_cast<std::uint32_t>(*number);
  if (name == "--level") {
    options.chunk.level = static_cast<int>(size);
    return size <= 9;
  }
  if (name == "--typesize") {
    options.chunk.typesize = size;
  } else if (name == "--chunk") {
    options.chunk_bytes = size;
  } else if (name == "--block") {
    options.chunk.blocksize = size;
  } else {
    return false;
  }
  return true;
}

std::optional<Options> parse_arguments(std::span<char* const> arguments) {
  Options options;
  options.chunk.codec = Codec::zstd;
  options.chunk.typesize = 1;
  options.chunk.blocksize = 64u << 10;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--split") {
      options.chunk.split = true;
    } else if (argument == "--variable") {
      options.variable = true;
    } else if (argument == "--sparse") {
      options.sparse = true;
    } else if (!argument.starts_with("--")) {
      options.inputs.emplace_back(argument);
    } else {
      ++i;
      if (i == arguments.size() || !set_option(options, argument, arguments[i])) {
        std::cerr << "framefs_make_frame: cannot use " << argument << '\n';
        return std::nullopt;
      }
    }
  }
  const std::uint32_t typesize = options.chunk.typesize;
  // The shapes of an array determine the sizes of its chunks and blocks.
  const bool has_sizes = !options.array;
  if (has_sizes &&
      (options.chunk_bytes % typesize != 0 || options.chunk.blocksize % typesize != 0)) {
    std::cerr << "framefs_make_frame: --chunk and --block must be multiples of --typesize\n";
    return std::nullopt;
  }
  if (options.array) {
    auto& array = *options.array;
    array.typesize = typesize;
    if (array.chunkshape.size() != array.shape.size() ||
        array.blockshape.size() != array.shape.size()) {
      std::cerr << "framefs_make_frame: shapes of different dimensions\n";
      return std::nullopt;
    }
  }
  const std::size_t names = options.rules_bytes > 0 ? 1 : 2;
  if (options.into ? options.inputs.empty() : options.inputs.size() != names) return std::nullopt;
  return options;
}

// Packs like real writers: zeros are only in the index, unless the index could not store their
// size; data that does not shrink, or is too short, is stored uncompressed.
FrameChunk pack_chunk(std::span<const std::byte> data, const Options& options) {
  constexpr std::size_t kMinBytes = 32;
  constexpr std::size_t kHeaderBytes = 32;
  const bool zeros = std::ranges::all_of(data, [](std::byte b) { return b == std::byte{0}; });
  if (zeros && !options.variable) {
    return index_only_chunk(SpecialKind::zero, static_cast<std::uint32_t>(data.size()));
  }
  ChunkSpec spec = options.chunk;
  spec.blocksize = std::min(spec.blocksize, static_cast<std::uint32_t>(data.size()));
  if (spec.blocksize % spec.typesize != 0) spec.split = false;
  if (data.size() >= kMinBytes) {
    FrameChunk packed = stored_chunk(data, spec);
    if (packed.stored.size() < data.size() + kHeaderBytes) return packed;
  }
  spec.codec = Codec::memcpy;
  return stored_chunk(data, spec);
}

std::uint32_t next_chunk_bytes(const Options& options, std::size_t index) {
  if (!options.variable) return options.chunk_bytes;
  const std::uint32_t third = options.chunk_bytes / 3 / options.chunk.typesize;
  const auto thirds = static_cast<std::uint32_t>(index % 3) + 1;
  return std::max(third * thirds, 1u) * options.chunk.typesize;
}

void write(std::ostream& out, std::span<const std::byte> bytes) {
  out.write(as_chars(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// The destination of a frame: first its chunks one by one, then the rest.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual ~Output() = default;

  void add(const FrameChunk& chunk) {
    entries_.push_back(chunk.special ? special_index_entry(*chunk.special) : store(chunk.stored));
    numbers_.nbytes += chunk.nbytes;
    numbers_.cbytes += chunk.stored.size();
  }
  [[nodiscard]] std::size_t chunks() const { return entries_.size(); }
  // Returns false if not all of it could be written.
  virtual bool finish(const FrameSpec& spec) = 0;

 protected:
  // Returns the chunk's entry in the index.
  virtual std::int64_t store(std::span<const std::byte> chunk) = 0;

  std::vector<std::int64_t> entries_;
  FrameNumbers numbers_;
};

class ContiguousOutput final : public Output {
 public:
  ContiguousOutput(const stdfs::path& path, const FrameSpec& spec)
      : out_(path, std::ios::binary | std::ios::trunc),
        header_bytes_(build_frame_header(spec, {}).size()) {
    write(out_, Bytes(header_bytes_));
  }
  bool finish(const FrameSpec& spec) override {
    const Bytes index =
        entries_.empty() ? Bytes{} : build_index_chunk(entries_, IndexForm::memcpyed);
    const Bytes trailer = build_trailer({});
    write(out_, index);
    write(out_, trailer);
    numbers_.frame_bytes = header_bytes_ + numbers_.cbytes + index.size() + trailer.size();
    out_.seekp(0);
    write(out_, build_frame_header(spec, numbers_));
    out_.close();
    return static_cast<bool>(out_);
  }

 private:
  std::int64_t store(std::span<const std::byte> chunk) override {
    write(out_, chunk);
    return static_cast<std::int64_t>(numbers_.cbytes);
  }

  std::ofstream out_;
  const std::size_t header_bytes_;
};

class SparseOutput final : public Output {
 public:
  explicit SparseOutput(const stdfs::path& folder) : folder_(folder) {
    stdfs::create_directories(folder);
  }
  bool finish(const FrameSpec& spec) override {
    write_sparse_frame(folder_, build_sparse_index(spec, numbers_, entries_));
    return ok_;
  }

 private:
  std::int64_t store(std::span<const std::byte> chunk) override {
    std::ofstream out(folder_ / chunk_file_name(next_), std::ios::binary | std::ios::trunc);
    write(out, chunk);
    out.close();
    if (!out) ok_ = false;
    return next_++;
  }

  const stdfs::path folder_;
  std::uint32_t next_ = 0;
  bool ok_ = true;
};

std::unique_ptr<Output> make_output(const stdfs::path& path, const FrameSpec& spec, bool sparse) {
  if (sparse) return std::make_unique<SparseOutput>(path);
  return std::make_unique<ContiguousOutput>(path, spec);
}

FrameSpec frame_header(const Options& options) {
  FrameSpec spec;
  spec.codec = options.chunk.codec;
  spec.level = options.chunk.level;
  spec.typesize = options.chunk.typesize;
  spec.chunksize = options.variable ? 0 : options.chunk_bytes;
  spec.blocksize = std::min(options.chunk.blocksize, options.chunk_bytes);
  spec.filters = options.chunk.filters;
  return spec;
}

// Reads and packs one chunk at a time.
bool pack_stream(std::istream& in, const stdfs::path& output, const Options& options) {
  const FrameSpec spec = frame_header(options);
  const auto out = make_output(output, spec, options.sparse);
  Bytes plain;
  while (in) {
    plain.resize(next_chunk_bytes(options, out->chunks()));
    in.read(as_chars(plain.data()), static_cast<std::streamsize>(plain.size()));
    plain.resize(static_cast<std::size_t>(in.gcount()));
    if (plain.empty()) break;
    out->add(pack_chunk(plain, options));
  }
  return out->finish(spec) && in.eof() && !in.bad();
}

bool pack_array(std::istream& in, const stdfs::path& output, Options options) {
  Bytes data(array_bytes(*options.array));
  in.read(as_chars(data.data()), static_cast<std::streamsize>(data.size()));
  if (!in || in.peek() != std::istream::traits_type::eof()) return false;
  options.array->chunk = options.chunk;
  FrameSpec spec = array_frame_header(*options.array);
  options.chunk.blocksize = spec.blocksize;
  const auto out = make_output(output, spec, options.sparse);
  for (const Bytes& chunk : cut_array(*options.array, data)) out->add(pack_chunk(chunk, options));
  return out->finish(spec);
}

bool write_rules(const stdfs::path& output, const Options& options) {
  constexpr std::array kKinds = {SpecialKind::zero, SpecialKind::nan, SpecialKind::uninit};
  const FrameSpec spec = frame_header(options);
  const auto out = make_output(output, spec, options.sparse);
  for (std::uint64_t left = options.rules_bytes; left > 0;) {
    const auto kind = kKinds.at(out->chunks() % kKinds.size());
    const auto nbytes = std::min<std::uint64_t>(left, options.chunk_bytes);
    out->add(index_only_chunk(kind, static_cast<std::uint32_t>(nbytes)));
    left -= nbytes;
  }
  if (out->finish(spec)) return true;
  std::cerr << "framefs_make_frame: cannot write " << output << '\n';
  return false;
}

bool pack_file(const stdfs::path& input, const stdfs::path& output, const Options& options) {
  std::ifstream in(input, std::ios::binary);
  const bool packed =
      options.array ? pack_array(in, output, options) : pack_stream(in, output, options);
  if (packed) return true;
  std::cerr << "framefs_make_frame: cannot pack " << input << " into " << output << '\n';
  return false;
}

bool pack_into_folder(const stdfs::path& folder, const Options& options) {
  const auto pack = [&](const stdfs::path& input) {
    return pack_file(input, folder / (input.filename().string() + ".b2frame"), options);
  };
  for (const stdfs::path input : options.inputs) {
    if (!stdfs::is_directory(input)) {
      if (!pack(input)) return false;
      continue;
    }
    for (const auto& entry : stdfs::directory_iterator(input)) {
      if (entry.is_regular_file() && !pack(entry.path())) return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace framefs::test

int main(int argc, char** argv) {
  using namespace framefs::test;
  const auto options = parse_arguments(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!options) {
    std::cerr << kUsage;
    return 2;
  }
  bool packed = false;
  if (options->rules_bytes > 0) {
    packed = write_rules(options->inputs[0], *options);
  } else if (options->into) {
    packed = pack_into_folder(*options->into, *options);
  } else {
    packed = pack_file(options->inputs[0], options->inputs[1], *options);
  }
  return packed ? 0 : 1;
}
