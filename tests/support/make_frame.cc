// framefs_make_frame: packs plain files into contiguous frames, for end-to-end tests and
// benchmarks. Files are read and written a chunk at a time.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/frame_builder.h"

namespace framefs::test {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kUsage = R"(usage: framefs_make_frame [options] INPUT OUTPUT
       framefs_make_frame [options] --into FOLDER INPUT...

The second form writes FOLDER/NAME.b2frame for each INPUT; an INPUT that is a folder stands for the
files in it.

  --codec NAME      memcpy, blosclz, lz4, lz4hc, zlib, zstd       (zstd)
  --level N         of lz4hc, zlib and zstd                       (5)
  --typesize N      bytes of an item                              (1)
  --chunk SIZE      decoded size of a chunk, e.g. 1M              (1M)
  --block SIZE      decoded size of a block                       (64K)
  --filter NAME     none, shuffle, bitshuffle                     (none)
  --split           one stream per byte of an item
  --variable        chunks of varying size: a third of --chunk, two thirds, all of it, in turn
)";

struct Options {
  ChunkSpec chunk;
  std::uint32_t chunk_bytes = 1u << 20;
  bool variable = false;
  std::optional<std::string> into;
  std::vector<std::string> inputs;
};

std::optional<std::uint32_t> parse_size(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value == 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const unsigned shift = unit == "K" ? 10 : unit == "M" ? 20 : 0;
  if ((!unit.empty() && shift == 0) || value > (0x7fffffffU >> shift)) return std::nullopt;
  return value << shift;
}

template <class T>
bool pick(const std::map<std::string_view, T>& choices, std::string_view name, T& to) {
  const auto found = choices.find(name);
  if (found == choices.end()) return false;
  to = found->second;
  return true;
}

bool set_option(Options& options, std::string_view name, std::string_view value) {
  static const std::map<std::string_view, Codec> kCodecs = {
      {"memcpy", Codec::memcpy}, {"blosclz", Codec::blosclz}, {"lz4", Codec::lz4},
      {"lz4hc", Codec::lz4hc},   {"zlib", Codec::zlib},       {"zstd", Codec::zstd}};
  static const std::map<std::string_view, std::vector<Filter>> kFilters = {
      {"none", {}}, {"shuffle", {Filter::shuffle}}, {"bitshuffle", {Filter::bitshuffle}}};
  if (name == "--codec") return pick(kCodecs, value, options.chunk.codec);
  if (name == "--filter") return pick(kFilters, value, options.chunk.filters);
  if (name == "--into") {
    options.into = value;
    return true;
  }
  const auto size = parse_size(value);
  if (!size) return false;
  if (name == "--level") {
    options.chunk.level = static_cast<int>(*size);
    return *size <= 9;
  }
  if (name == "--typesize") {
    options.chunk.typesize = *size;
  } else if (name == "--chunk") {
    options.chunk_bytes = *size;
  } else if (name == "--block") {
    options.chunk.blocksize = *size;
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
  if (options.chunk_bytes % typesize != 0 || options.chunk.blocksize % typesize != 0) {
    std::cerr << "framefs_make_frame: --chunk and --block must be multiples of --typesize\n";
    return std::nullopt;
  }
  if (options.into ? options.inputs.empty() : options.inputs.size() != 2) return std::nullopt;
  return options;
}

// As every writer does: what is all zeros stands in the index alone, except where the index could
// not tell its size; what does not shrink, or is too short, is stored as it is.
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

bool pack_file(const stdfs::path& input, const stdfs::path& output, const Options& options) {
  std::ifstream in(input, std::ios::binary);
  std::ofstream out(output, std::ios::binary | std::ios::trunc);
  FrameSpec spec;
  spec.codec = options.chunk.codec;
  spec.level = options.chunk.level;
  spec.typesize = options.chunk.typesize;
  spec.chunksize = options.variable ? 0 : options.chunk_bytes;
  spec.blocksize = std::min(options.chunk.blocksize, options.chunk_bytes);
  spec.filters = options.chunk.filters;

  FrameNumbers numbers;
  const Bytes placeholder = build_frame_header(spec, numbers);
  write(out, placeholder);
  std::vector<std::int64_t> entries;
  Bytes plain;
  while (in && out) {
    plain.resize(next_chunk_bytes(options, entries.size()));
    in.read(as_chars(plain.data()), static_cast<std::streamsize>(plain.size()));
    plain.resize(static_cast<std::size_t>(in.gcount()));
    if (plain.empty()) break;
    const FrameChunk chunk = pack_chunk(plain, options);
    entries.push_back(chunk.special ? special_index_entry(*chunk.special)
                                    : static_cast<std::int64_t>(numbers.cbytes));
    write(out, chunk.stored);
    numbers.nbytes += plain.size();
    numbers.cbytes += chunk.stored.size();
  }
  const bool read_all = in.eof() && !in.bad();
  const Bytes index = entries.empty() ? Bytes{} : build_index_chunk(entries, IndexForm::memcpyed);
  const Bytes trailer = build_trailer({});
  write(out, index);
  write(out, trailer);
  numbers.frame_bytes = placeholder.size() + numbers.cbytes + index.size() + trailer.size();
  out.seekp(0);
  write(out, build_frame_header(spec, numbers));
  out.close();
  if (read_all && out) return true;
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
  const bool packed = options->into ? pack_into_folder(*options->into, *options)
                                    : pack_file(options->inputs[0], options->inputs[1], *options);
  return packed ? 0 : 1;
}
