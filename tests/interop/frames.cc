// The framefs side of the interoperation test; scripts/interop runs it.
//
//   framefs_interop_frames write FOLDER COUNT SEED    writes COUNT random frames and arrays, each
//                                                     with its content in a .plain file
//   framefs_interop_frames check FOLDER               compares every contiguous frame with its
//                                                     .plain file
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "codec/array/array_meta_writer.h"
#include "codec/chunk/chunk_encoder.h"
#include "codec/frame/frame.h"
#include "codec/frame/frame_reader.h"
#include "codec/frame/frame_writer.h"
#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/file_sink.h"
#include "tests/support/plain_kinds.h"
#include "tests/support/verify_checksums.h"

namespace framefs {
namespace {

namespace filesystem = std::filesystem;
using codec::Result;
using codec::Status;
using test::Bytes;
using test::draw;

constexpr codec::CodecId kCodecs[] = {codec::CodecId::blosclz, codec::CodecId::lz4,
                                      codec::CodecId::lz4hc, codec::CodecId::zlib,
                                      codec::CodecId::zstd};

void save(const filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(test::as_chars(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) {
    std::cerr << "cannot write " << path << '\n';
    std::exit(1);
  }
}

Bytes load(const filesystem::path& path) {
  Bytes bytes(filesystem::file_size(path));
  std::ifstream file(path, std::ios::binary);
  file.read(test::as_chars(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

fs::FileSink create_file(const filesystem::path& path) {
  return fs::FileSink(
      fs::UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)));
}

class FolderOfChunks final : public codec::ChunkFiles {
 public:
  explicit FolderOfChunks(filesystem::path folder) : folder_(std::move(folder)) {}
  Status write(std::uint32_t id, std::span<const std::byte> chunk) override {
    save(folder_ / fmt::format("{:08X}.chunk", id), chunk);
    return {};
  }

 private:
  const filesystem::path folder_;
};

std::uint32_t below(std::mt19937& random, std::uint32_t limit) { return draw(random) % limit; }

codec::FilterSlots random_filters(std::mt19937& random) {
  codec::FilterSlots slots{};
  switch (below(random, 5)) {
    case 0:
      break;
    case 1:
      slots[5].id = 1;
      break;
    case 2:
      slots[5].id = 2;
      break;
    case 3:
      slots[below(random, 6)].id = 1;
      break;
    default:
      slots[4].id = 1;
      slots[5].id = 35;
      break;
  }
  return slots;
}

codec::EncodeParams random_encoding(std::mt19937& random) {
  constexpr std::uint32_t kTypesizes[] = {1, 2, 4, 8, 3, 5, 12, 16, 17, 32, 100, 255, 256, 300};
  codec::EncodeParams params;
  params.codec = kCodecs[below(random, 5)];
  params.clevel = static_cast<int>(below(random, 10));
  // The highest level of zstd is slow.
  if (params.codec == codec::CodecId::zstd && params.clevel == 9) params.clevel = 6;
  params.typesize = kTypesizes[below(random, below(random, 3) == 0 ? 14 : 4)];
  params.filters = random_filters(random);
  if (below(random, 3) == 0) params.blocksize = 1 + below(random, 20000);
  params.split = static_cast<codec::SplitMode>(1 + below(random, 4));
  params.use_dict = below(random, 5) == 0;
  return params;
}

Status append_all(codec::FrameWriter& writer, const codec::FrameParams& params,
                  std::span<const std::byte> plain) {
  codec::ChunkEncoder encoder;
  Bytes chunk(codec::ChunkPlan::max_bytes(params.chunksize));
  for (; !plain.empty();
       plain = plain.subspan(std::min<std::size_t>(params.chunksize, plain.size()))) {
    const auto piece = plain.first(std::min<std::size_t>(params.chunksize, plain.size()));
    FRAMEFS_TRY(const auto size, encoder.encode(params.encode, piece, chunk));
    if (size == 0) {
      const auto nbytes = static_cast<std::uint32_t>(piece.size());
      FRAMEFS_CHECK(writer.append_special(codec::Special::zero, nbytes));
    } else {
      FRAMEFS_CHECK(writer.append_chunk(std::span(chunk).first(size)));
    }
  }
  return {};
}

Status write_frame(const filesystem::path& path, bool sparse, const codec::FrameParams& params,
                   const Bytes& plain) {
  if (sparse) filesystem::create_directory(path);
  auto sink = create_file(sparse ? path / "chunks.b2frame" : path);
  FolderOfChunks files(path);
  FRAMEFS_TRY(auto writer, sparse ? codec::FrameWriter::create_sparse(sink, files, params)
                                  : codec::FrameWriter::create(sink, params));
  FRAMEFS_CHECK(append_all(writer, params, plain));
  FRAMEFS_TRY([[maybe_unused]] const auto length, writer.finish());
  return {};
}

// Writes a frame of bytes.  The vl-metalayer "head" repeats its first bytes, which the library side
// checks.
Status write_random_frame(const filesystem::path& folder, int number, std::mt19937& random) {
  codec::FrameParams params;
  params.encode = random_encoding(random);
  params.chunksize = 1 + below(random, below(random, 4) == 0 ? 400 : 100000);
  const auto typesize = params.encode.typesize;
  // The library side counts in items.
  params.chunksize = std::max(params.chunksize / typesize * typesize, typesize);
  const auto kind = test::kPlainKinds[below(random, 7)];
  std::size_t nbytes = below(random, 300000);
  if (below(random, 3) == 0) nbytes = std::size_t{params.chunksize} * below(random, 6);
  if (below(random, 3) != 0) nbytes = nbytes / typesize * typesize;
  const auto plain = test::plain_bytes(kind, nbytes, typesize, draw(random));
  if (below(random, 3) == 0) params.metalayers.push_back({"fixed", test::noise(100, 1)});
  if (below(random, 2) == 0) {
    const auto head = std::span(plain).first(std::min<std::size_t>(plain.size(), 1000));
    params.vlmetalayers.push_back({"head", Bytes(head.begin(), head.end())});
  }
  const bool sparse = below(random, 5) == 0;
  params.checksums = below(random, 2) == 0;
  const auto name = fmt::format("{:05}{}", number, sparse ? "s" : "");
  save(folder / (name + ".plain"), plain);
  return write_frame(folder / (name + ".b2frame"), sparse, params, plain);
}

// The extents of an array, its chunks and their blocks.
struct Extents {
  std::vector<std::int64_t> shape;
  std::vector<std::int32_t> chunk;
  std::vector<std::int32_t> block;
};

Extents random_extents(std::mt19937& random) {
  Extents extents;
  const auto dimensions = below(random, 5);
  const std::uint32_t most = dimensions < 2 ? 3000 : dimensions == 2 ? 120 : 25;
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    extents.shape.push_back(below(random, 30) == 0 ? 0 : 1 + below(random, most));
    extents.chunk.push_back(static_cast<std::int32_t>(1 + below(random, most)));
    const auto chunk = static_cast<std::uint32_t>(extents.chunk.back());
    extents.block.push_back(static_cast<std::int32_t>(1 + below(random, chunk)));
  }
  return extents;
}

// Calls visit(index) for every index below `ends`; the last dimension varies fastest.
template <class Visit>
void for_each_index(const std::vector<std::int64_t>& ends, const Visit& visit) {
  for (const auto end : ends) {
    if (end == 0) return;
  }
  std::vector<std::int64_t> index(ends.size());
  for (;;) {
    visit(index);
    std::size_t d = ends.size();
    while (d > 0 && ++index[d - 1] == ends[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// The number of parts of that size that cover `whole`, for each dimension.
std::vector<std::int64_t> parts_of(std::span<const std::int64_t> whole,
                                   std::span<const std::int32_t> part) {
  std::vector<std::int64_t> counts;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    counts.push_back((whole[d] + part[d] - 1) / part[d]);
  }
  return counts;
}

// The items in the order of chunks, blocks and positions in blocks; the padding is zeros.
// Source: array format, "Layout".
Bytes in_chunk_order(const Extents& extents, const Bytes& plain, std::size_t typesize) {
  const std::vector<std::int64_t> chunk(extents.chunk.begin(), extents.chunk.end());
  const std::vector<std::int64_t> block(extents.block.begin(), extents.block.end());
  Bytes out;
  for_each_index(parts_of(extents.shape, extents.chunk), [&](const auto& c) {
    for_each_index(parts_of(chunk, extents.block), [&](const auto& b) {
      for_each_index(block, [&](const auto& o) {
        bool inside = true;
        std::size_t item = 0;
        for (std::size_t d = 0; d < block.size(); ++d) {
          const auto within = b[d] * block[d] + o[d];
          const auto place = c[d] * chunk[d] + within;
          inside = inside && within < chunk[d] && place < extents.shape[d];
          item =
              item * static_cast<std::size_t>(extents.shape[d]) + static_cast<std::size_t>(place);
        }
        Bytes bytes(typesize);
        if (inside) std::copy_n(plain.data() + item * typesize, typesize, bytes.data());
        test::append(out, bytes);
      });
    });
  });
  return out;
}

// Writes an array.  Its .plain has the items in C order.
Status write_random_array(const filesystem::path& folder, int number, std::mt19937& random) {
  constexpr const char* kTypes[] = {"|u1", "<i2", "<f4", "<f8", "<c16", "|S5"};
  constexpr std::uint32_t kSizes[] = {1, 2, 4, 8, 16, 5};
  const auto type = below(random, 6);
  const auto extents = random_extents(random);
  codec::FrameParams params;
  params.encode = random_encoding(random);
  params.encode.use_dict = false;  // the library side reads arrays in slices
  params.encode.typesize = kSizes[type];
  std::uint64_t block_items = 1;
  std::uint64_t chunk_items = 1;
  std::uint64_t items = 1;
  for (std::size_t d = 0; d < extents.shape.size(); ++d) {
    const auto block = static_cast<std::uint64_t>(extents.block[d]);
    const auto chunk = static_cast<std::uint64_t>(extents.chunk[d]);
    block_items *= block;
    chunk_items *= (chunk + block - 1) / block * block;
    items *= static_cast<std::uint64_t>(extents.shape[d]);
  }
  params.encode.blocksize = static_cast<std::uint32_t>(block_items * kSizes[type]);
  params.chunksize = static_cast<std::uint32_t>(chunk_items * kSizes[type]);
  FRAMEFS_TRY(auto meta, codec::encode_b2nd_metalayer(extents.shape, extents.chunk, extents.block,
                                                      kTypes[type]));
  params.metalayers.push_back({codec::kB2ndMetalayer, std::move(meta)});
  const auto kind = test::kPlainKinds[below(random, 7)];
  const auto plain = test::plain_bytes(kind, items * kSizes[type], kSizes[type], draw(random));
  const auto name = fmt::format("{:05}a", number);
  save(folder / (name + ".plain"), plain);
  return write_frame(folder / (name + ".b2nd"), below(random, 5) == 0, params,
                     in_chunk_order(extents, plain, kSizes[type]));
}

int write_all(const filesystem::path& folder, int count, std::uint32_t seed) {
  for (int number = 0; number < count; ++number) {
    std::mt19937 random(seed + static_cast<std::uint32_t>(number));
    const auto written = below(random, 4) == 0 ? write_random_array(folder, number, random)
                                               : write_random_frame(folder, number, random);
    if (!written) {
      std::cerr << number << ": " << fs::describe(written.error()) << '\n';
      return 1;
    }
  }
  return 0;
}

Result<Bytes> read_frame(const filesystem::path& path) {
  const fs::FileReader source(fs::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  FRAMEFS_TRY(const auto frame, codec::Frame::open(source, codec::Limits{}));
  // Checksums of a frame that the library has changed must not count.
  FRAMEFS_CHECK(test::verify_checksums(source, source, frame));
  Bytes out(frame.nbytes());
  codec::FrameReader reader(source, frame, codec::Limits{});
  FRAMEFS_CHECK(reader.read(0, out));
  return out;
}

int check_all(const filesystem::path& folder) {
  int checked = 0;
  int bad = 0;
  for (const auto& entry : filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".b2frame" || !entry.is_regular_file()) continue;
    auto plain = entry.path();
    plain.replace_extension(".plain");
    const auto read = read_frame(entry.path());
    ++checked;
    if (read && *read == load(plain)) continue;
    ++bad;
    std::cerr << entry.path().filename() << ": "
              << (read ? std::string("other bytes") : fs::describe(read.error())) << '\n';
  }
  std::cout << "read " << checked << " frames after the library changed them, " << bad
            << " of them wrongly\n";
  return bad == 0 && checked > 0 ? 0 : 1;
}

}  // namespace
}  // namespace framefs

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (argc == 5 && arguments[1] == "write") {
    return framefs::write_all(arguments[2], std::stoi(arguments[3]),
                              static_cast<std::uint32_t>(std::stoul(arguments[4])));
  }
  if (argc == 3 && arguments[1] == "check") return framefs::check_all(arguments[2]);
  std::cerr << "usage: framefs_interop_frames write FOLDER COUNT SEED | check FOLDER\n";
  return 2;
}
