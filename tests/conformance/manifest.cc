#include "tests/conformance/manifest.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "codec/compressor/zfp.h"
#include "tests/support/bytes.h"

namespace framefs::test {
namespace {

using nlohmann::json;

Expect parse_expect(const std::string& word) {
  if (word == "ok") return Expect::ok;
  if (word == "unsupported") return Expect::unsupported;
  if (word == "error") return Expect::error;
  throw std::runtime_error("manifest: expect is " + word);
}

std::string text_or_empty(const json& from, const char* key) {
  const auto found = from.find(key);
  return found == from.end() || found->is_null() ? std::string() : found->get<std::string>();
}

std::optional<std::int64_t> number(const json& from, const char* key) {
  const auto found = from.find(key);
  if (found == from.end() || found->is_null()) return std::nullopt;
  return found->get<std::int64_t>();
}

// A list with one kind per chunk, or "all:N".
std::optional<std::map<std::uint64_t, int>> parse_specials(const json& from,
                                                           std::uint64_t nchunks) {
  std::map<std::uint64_t, int> specials;
  const auto found = from.find("chunk_special");
  if (found == from.end()) return std::nullopt;
  if (found->is_string()) {
    const int kind = std::stoi(found->get<std::string>().substr(4));
    for (std::uint64_t i = 0; i < nchunks; ++i) specials[i] = kind;
    return specials;
  }
  for (std::uint64_t i = 0; i < found->size(); ++i) {
    if (const int kind = found->at(i).get<int>(); kind != 0) specials[i] = kind;
  }
  return specials;
}

std::vector<ExpectedMetalayer> parse_metalayers(const json& from, const char* key,
                                                const char* order_key) {
  std::vector<ExpectedMetalayer> layers;
  if (!from.contains(key)) return layers;
  for (const auto& name : from.at(order_key)) {
    const json& layer = from.at(key).at(name.get<std::string>());
    layers.push_back({.name = name,
                      .bytes = layer.at("len").get<std::uint64_t>(),
                      .sha256 = layer.at("sha256")});
  }
  return layers;
}

std::optional<ExpectedArray> parse_array(const json& from) {
  const auto found = from.find("b2nd");
  if (found == from.end()) return std::nullopt;
  return ExpectedArray{.shape = found->at("shape"),
                       .chunkshape = found->at("chunkshape"),
                       .blockshape = found->at("blockshape"),
                       .dtype = text_or_empty(*found, "dtype"),
                       .dtype_format = found->value("dtype_format", 0),
                       .sha256 = text_or_empty(*found, "npy_sha256")};
}

// Whether framefs lacks a codec.  It has all filters except user-defined ones.
bool lacks_codec(const json& from) {
  static const std::set<std::string> kDecoded = {"blosclz", "lz4",  "lz4hc", "zlib",
                                                 "zstd",    "ndlz", ""};
  const auto codec = text_or_empty(from, "codec");
  if (codec.starts_with("zfp_")) return !codec::has_zfp();
  return !kDecoded.contains(codec);
}

ManifestEntry parse_entry(const json& from, const std::filesystem::path& folder) {
  ManifestEntry entry;
  entry.path = from.at("path");
  entry.file = folder / entry.path;
  entry.offset = from.value("offset", std::uint64_t{0});
  entry.kind = from.at("kind");
  entry.expect = parse_expect(from.at("expect"));
  entry.nbytes = static_cast<std::uint64_t>(number(from, "nbytes").value_or(0));
  entry.nchunks = static_cast<std::uint64_t>(number(from, "nchunks").value_or(0));
  entry.sha256 = text_or_empty(from, "sha256");
  entry.sha256_if_accepted = text_or_empty(from, "sha256_if_accepted");
  entry.may_refuse = from.value("may_refuse", false);
  for (const auto& feature : from.at("features")) {
    if (feature == "do-not-decode-whole") entry.do_not_decode_whole = true;
  }
  entry.lacks_codec = lacks_codec(from);
  entry.undecidable =
      entry.expect == Expect::unsupported && text_or_empty(from, "reference") == "ok-wrong-data";
  entry.what = text_or_empty(from, "what") + "; " + text_or_empty(from, "reason");
  entry.typesize = number(from, "typesize");
  entry.chunksize = number(from, "chunksize");
  entry.clevel = number(from, "clevel");
  entry.splitmode = number(from, "splitmode");
  entry.codec_meta = number(from, "codec_meta");
  entry.chunk_version = number(from, "chunk_version");
  entry.filters = from.value("filters", std::vector<int>{});
  entry.filters_meta = from.value("filters_meta", std::vector<int>{});
  entry.chunk_special = parse_specials(from, entry.nchunks);
  entry.chunk_nbytes = from.value("chunk_nbytes", std::vector<std::uint64_t>{});
  entry.vlblocks = from.value("vlblocks", std::vector<std::vector<std::uint64_t>>{});
  entry.metalayers = parse_metalayers(from, "meta", "meta_order");
  entry.vlmetalayers = parse_metalayers(from, "vlmeta", "vlmeta_order");
  entry.array = parse_array(from);
  entry.array_is_damaged = text_or_empty(from, "b2nd_reference") == "error";
  return entry;
}

}  // namespace

std::filesystem::path fixtures_folder() {
  const char* chosen = std::getenv("FRAMEFS_FIXTURES");
  return chosen != nullptr && *chosen != '\0' ? chosen : FRAMEFS_DEFAULT_FIXTURES;
}

std::vector<ManifestEntry> load_manifest(const std::filesystem::path& folder) {
  std::ifstream in(folder / "manifest.json");
  if (!in) throw std::runtime_error("no manifest.json in " + folder.string());
  std::vector<ManifestEntry> entries;
  for (const auto& entry : json::parse(in)) entries.push_back(parse_entry(entry, folder));
  return entries;
}

std::vector<std::byte> read_entry(const ManifestEntry& entry) {
  std::ifstream in(entry.file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + entry.file.string());
  std::vector<std::byte> bytes(std::filesystem::file_size(entry.file) - entry.offset);
  in.seekg(static_cast<std::streamoff>(entry.offset));
  in.read(as_chars(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw std::runtime_error("cannot read " + entry.file.string());
  return bytes;
}

}  // namespace framefs::test
