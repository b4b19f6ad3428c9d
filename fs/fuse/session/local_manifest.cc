#include "fs/fuse/session/local_manifest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/file.h"
#include "fs/net/store/manifest.h"
#include "fs/remote/object_head.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/shown_stat.h"

namespace framefs::fuse {
namespace {

codec::Result<fs::KnownSummaries> known_files(fs::UniqueFd fd, const codec::Limits& limits) {
  FRAMEFS_TRY(const auto st, fs::stat_of(fd.get()));
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (!S_ISREG(st.st_mode)) return codec::fail(fs::Errc::bad_field, "manifest");
  FRAMEFS_CHECK(net::check_manifest_bytes(size));
  std::string text(size, '\0');
  FRAMEFS_CHECK(fs::FileReader(std::move(fd)).read_at(0, std::as_writable_bytes(std::span(text))));
  fs::KnownSummaries files;
  const auto take = [&](const net::ManifestFile& listed) -> codec::Status {
    const auto& [path, entry] = listed;
    if (!entry.head) return {};
    const fs::ObjectHead head(entry.head, entry.size);
    const auto expected = fs::expected_content(fs::name_part(path));
    const auto summary = fs::summarise(head, expected, limits);
    if (head.is_short()) return {};
    files.add(path, {.size = entry.size, .mtime_ns = entry.mtime_ns, .summary = summary});
    return {};
  };
  FRAMEFS_CHECK(net::parse_manifest(text, take));
  return files;
}

}  // namespace

fs::KnownSummaries read_local_manifest(const fs::SourceRoot& source, const codec::Limits& limits,
                                       fs::Log& log) {
  // A SOURCE of one entry has no manifest.
  if (source.path() != ".") return {};
  auto fd = source.open(net::kManifestName, O_RDONLY | O_NOFOLLOW);
  if (!fd && fd.error().sys == ENOENT) return {};
  auto files = fd ? known_files(std::move(*fd), limits) : std::unexpected(fd.error());
  if (files) return std::move(*files);
  log.warn(fmt::format("{} is not used: {}", net::kManifestName, fs::describe(files.error())));
  return {};
}

}  // namespace framefs::fuse
