#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace framefs::test {

// The result that a manifest entry requires from a reader.
enum class Expect : std::uint8_t { ok, unsupported, error };

struct ExpectedMetalayer {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;
};

// The array in a frame.
struct ExpectedArray {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint32_t> chunkshape, blockshape;
  std::string dtype;
  int dtype_format = 0;
  std::string sha256;  // of its bytes in C order; empty if parts of it were never written
};

// One entry of manifest.json in a fixtures folder.  tests/fixtures/README.md describes the keys.
struct ManifestEntry {
  std::string path;  // as in the manifest
  std::filesystem::path file;
  std::uint64_t offset = 0;
  std::string kind;
  Expect expect = Expect::ok;
  std::uint64_t nbytes = 0;
  std::uint64_t nchunks = 0;
  std::string sha256;              // empty if nothing may be decoded as a whole
  std::string sha256_if_accepted;  // empty if the entry has none
  bool may_refuse = false;
  bool do_not_decode_whole = false;
  bool lacks_codec = false;  // a codec that this build does not decode
  // The bytes do not tell which of two writers' rules they follow, and the reference library
  // assumes the wrong one.  Source: codec/ERRATA.md, "bitshuffle before 2.0.0-beta.5".
  bool undecidable = false;
  std::string what;  // the damage, or why the entry cannot be read

  // The fields of the header; absent if the header cannot be read.
  std::optional<std::int64_t> typesize, chunksize, clevel, splitmode, codec_meta, chunk_version;
  std::vector<int> filters, filters_meta;

  // The kind of each special chunk, by index; nothing if the manifest does not list them.
  std::optional<std::map<std::uint64_t, int>> chunk_special;
  std::vector<std::uint64_t> chunk_nbytes;  // empty if the sizes can be computed
  std::vector<std::vector<std::uint64_t>> vlblocks;
  std::vector<ExpectedMetalayer> metalayers, vlmetalayers;  // in stored order
  std::optional<ExpectedArray> array;
  bool array_is_damaged = false;  // the frame is readable, but not its array
};

// The folder in the environment variable FRAMEFS_FIXTURES, or the repository's fixtures.
std::filesystem::path fixtures_folder();

// All entries of a folder's manifest.  If the manifest cannot be read, this throws, which fails the
// test.
std::vector<ManifestEntry> load_manifest(const std::filesystem::path& folder);

// The file's bytes from the entry's offset on.
std::vector<std::byte> read_entry(const ManifestEntry& entry);

}  // namespace framefs::test
