#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace framefs::test {

// What a manifest entry demands of a reader.
enum class Expect : std::uint8_t { ok, unsupported, error };

struct ExpectedMetalayer {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;
};

// The array that a frame holds.
struct ExpectedArray {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint32_t> chunkshape, blockshape;
  std::string dtype;
  int dtype_format = 0;
  std::string sha256;  // of its bytes in C order; empty where parts of it were never written
};

// One entry of a fixtures folder's manifest.json; tests/fixtures/README.md tells the keys.
struct ManifestEntry {
  std::string path;  // as in the manifest
  std::filesystem::path file;
  std::uint64_t offset = 0;
  std::string kind;
  Expect expect = Expect::ok;
  std::uint64_t nbytes = 0;
  std::uint64_t nchunks = 0;
  std::string sha256;              // empty where nothing may be decoded whole
  std::string sha256_if_accepted;  // empty where the entry has none
  bool may_refuse = false;
  bool do_not_decode_whole = false;
  bool lacks_codec = false;  // a codec that this build does not decode
  // Nothing in the bytes tells which of two writers' rules they follow, and the reference library
  // takes the wrong one.  Source: codec/ERRATA.md, "bitshuffle before 2.0.0-beta.5".
  bool undecidable = false;
  std::string what;  // the damage, or why it cannot be read

  // What the header says; absent in entries that no header could be read of.
  std::optional<std::int64_t> typesize, chunksize, clevel, splitmode, codec_meta, chunk_version;
  std::vector<int> filters, filters_meta;

  // By chunk, those that are not regular; nothing where the manifest does not go into it.
  std::optional<std::map<std::uint64_t, int>> chunk_special;
  std::vector<std::uint64_t> chunk_nbytes;  // empty where arithmetic tells
  std::vector<std::vector<std::uint64_t>> vlblocks;
  std::vector<ExpectedMetalayer> metalayers, vlmetalayers;  // in stored order
  std::optional<ExpectedArray> array;
  bool array_is_damaged = false;  // the frame reads, the array in it does not
};

// The folder given by the environment's FRAMEFS_FIXTURES, else the repository's own.
std::filesystem::path fixtures_folder();

// Every entry of a folder's manifest.  A manifest that cannot be read throws, which fails the test.
std::vector<ManifestEntry> load_manifest(const std::filesystem::path& folder);

// The file's bytes from the entry's offset on.
std::vector<std::byte> read_entry(const ManifestEntry& entry);

}  // namespace framefs::test
