#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/net/store/object_store.h"

namespace framefs::net {

// A manifest is an object in the root of a store.  It lists the files below the root:
//   {"framefs-manifest": 1,
//    "files": [{"path": "a/b", "size": 1, "mtime": "2024-...", "etag": "...", "head": "..."}]}
// "head" is the beginning of the file in Base64: the bytes that tell how a mount shows the file.
// All members but the path may be absent; members with other names are ignored.  The manifest takes
// the place of listings for a server that has none.  Otherwise only the heads count, each while the
// listing has the same ETag and size (without an ETag: the same time and size).
inline constexpr const char* kManifestName = "framefs-manifest.json";

// A manifest beyond this size is neither read nor written.
inline constexpr std::uint64_t kMaxManifestBytes = 128U << 20;
inline constexpr const char* kLongManifest = "a manifest of more than 128 MiB";  // of errors
// Errors: over_limit, if a manifest of `bytes` is beyond it.
Status check_manifest_bytes(std::uint64_t bytes);
// A longer head is neither read nor written.
inline constexpr std::uint64_t kMaxManifestHeadBytes = 64U << 10;

struct ManifestFile {
  std::string path;
  RemoteEntry entry;  // without a name; if it has no size, it is not exact
};

// Takes the files of a manifest one by one: together they would take several times the memory of
// its text.  Paths that no file can have are left out.  So is a head that is damaged or longer than
// the file.  If there is an error, the files that `take` got do not count.
// Errors: bad_field; over_limit; those of `take`.
using TakeManifestFile = std::function<Status(const ManifestFile&)>;
Status parse_manifest(std::string_view json, const TakeManifestFile& take);

// The text of a manifest is kManifestBegin, the files with kManifestComma between them, and
// kManifestEnd.
inline constexpr std::string_view kManifestBegin = "{\"framefs-manifest\": 1,\n\"files\": [\n";
inline constexpr std::string_view kManifestComma = ",\n";
inline constexpr std::string_view kManifestEnd = "\n]}\n";
// Errors: system, EILSEQ if the path is not UTF-8.
Result<std::string> manifest_text(const ManifestFile& file);

}  // namespace framefs::net
