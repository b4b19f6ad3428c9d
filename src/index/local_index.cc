#include "src/index/local_index.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "fs/core/file.h"
#include "fs/core/interrupt.h"
#include "fs/net/store/manifest.h"
#include "fs/remote/object_head.h"
#include "fs/source/suffixes.h"
#include "fs/tree/shown_stat.h"

namespace framefs {
namespace {

using codec::Errc;
using codec::Result;
using codec::Status;

// The manifest's entry of the file at `path`, which has the name `name`.
Result<net::ManifestFile> indexed(const std::filesystem::path& path, const std::string& name,
                                  const codec::Limits& limits) {
  fs::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return fs::system_error("open");
  FRAMEFS_TRY(const auto st, fs::stat_of(fd.get()));
  const auto identity = fs::identity_of(st);
  net::ManifestFile file{.path = name, .entry = {}};
  file.entry.size = static_cast<std::uint64_t>(identity.size);
  file.entry.mtime_ns = identity.mtime_ns;
  const fs::FileReader reader(std::move(fd));
  // Metalayers of a frame can be longer than its header.
  for (const std::uint64_t most : {std::uint64_t{4096}, net::kMaxManifestHeadBytes}) {
    auto bytes = std::make_shared<std::vector<std::byte>>(std::min(most, file.entry.size));
    FRAMEFS_CHECK(reader.read_at(0, *bytes));
    const fs::ObjectHead head(bytes, file.entry.size);
    static_cast<void>(fs::summarise(head, fs::expected_content(fs::name_part(name)), limits));
    if (head.is_short()) continue;
    const auto used = head.used();
    file.entry.head = std::make_shared<const std::vector<std::byte>>(used.begin(), used.end());
    break;
  }
  FRAMEFS_TRY(const auto now, fs::stat_of(reader.fd()));
  if (fs::identity_of(now) != identity) return fs::system_error_of(ESTALE, "a changing file");
  return file;
}

}  // namespace

Status LocalIndex::write() {
  namespace stdfs = std::filesystem;
  std::error_code failed;
  stdfs::recursive_directory_iterator at(source_, failed);
  if (failed) return fs::system_error_of(failed.value(), "open");
  FRAMEFS_CHECK(put(net::kManifestBegin));
  while (at != stdfs::recursive_directory_iterator()) {
    if (fs::interrupted()) return fs::system_error_of(EINTR, "index");
    std::error_code ignored;  // such an entry is no regular file
    const auto path = at->path().lexically_relative(source_).string();
    const bool is_file = at->symlink_status(ignored).type() == stdfs::file_type::regular;
    const bool may_have_head = fs::expected_content(fs::name_part(path)) != fs::Expected::nothing;
    if (is_file && may_have_head) FRAMEFS_CHECK(write_file(path));
    at.increment(failed);
    if (failed) report_(path, fs::system_error_of(failed.value(), "open").error());
  }
  return put(net::kManifestEnd);
}

Status LocalIndex::write_file(const std::string& path) {
  const auto file = indexed(source_ / path, path, limits_);
  const auto text = file ? net::manifest_text(*file) : std::unexpected(file.error());
  if (!text) {
    report_(path, text.error());
    return {};
  }
  if (!file->entry.head) return {};
  if (!std::exchange(is_first_, false)) FRAMEFS_CHECK(put(net::kManifestComma));
  return put(*text);
}

Status LocalIndex::put(std::string_view text) {
  put_bytes_ += text.size();
  if (put_bytes_ > net::kMaxManifestBytes) return codec::fail(Errc::over_limit, "manifest");
  return put_(text);
}

}  // namespace framefs
