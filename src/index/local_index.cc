#include "src/index/local_index.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/store/manifest.h"
#include "fs/remote/object_head.h"
#include "fs/source/suffixes.h"

namespace framefs {
namespace {

using codec::Errc;
using codec::Result;
using codec::Status;

// The manifest's entry of a file.
Result<net::ManifestFile> indexed(const TreeEntry& found, const codec::Limits& limits) {
  FRAMEFS_TRY(auto fd, found.place.open(O_RDONLY | O_NONBLOCK));
  FRAMEFS_TRY(const auto st, fs::stat_of(fd.get()));
  const auto identity = fs::identity_of(st);
  net::ManifestFile file{.path = found.relative, .entry = {}};
  file.entry.size = static_cast<std::uint64_t>(identity.size);
  file.entry.mtime_ns = identity.mtime_ns;
  const fs::FileReader reader(std::move(fd));
  // Metalayers of a frame can be longer than its header.
  for (const std::uint64_t most : {std::uint64_t{4096}, net::kMaxManifestHeadBytes}) {
    auto bytes = std::make_shared<std::vector<std::byte>>(std::min(most, file.entry.size));
    FRAMEFS_CHECK(reader.read_at(0, *bytes));
    const fs::ObjectHead head(bytes, file.entry.size);
    static_cast<void>(fs::summarise(head, fs::expected_content(found.place.name()), limits));
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
  FRAMEFS_TRY(const auto tree, fs::Tree::open(source_));
  FRAMEFS_CHECK(put(net::kManifestBegin));
  Status status;
  const auto visit = [&](const TreeEntry& entry) {
    const bool may_have_head = S_ISREG(entry.stat.st_mode) &&
                               fs::expected_content(entry.place.name()) != fs::Expected::nothing;
    if (fs::interrupted()) {
      status = fs::system_error_of(EINTR, "index");
    } else if (may_have_head) {
      status = write_file(entry);
    }
    return status ? TreeWalk::Next::entry : TreeWalk::Next::end;
  };
  const TreeFilter all;
  TreeWalk(all, visit, nullptr, report_).walk(tree);
  FRAMEFS_CHECK(status);
  return put(net::kManifestEnd);
}

Status LocalIndex::write_file(const TreeEntry& entry) {
  const auto file = indexed(entry, limits_);
  const auto text = file ? net::manifest_text(*file) : std::unexpected(file.error());
  if (!text) {
    report_(entry.path(), text.error());
    return {};
  }
  if (!file->entry.head) return {};
  if (!std::exchange(is_first_, false)) FRAMEFS_CHECK(put(net::kManifestComma));
  return put(*text);
}

Status LocalIndex::put(std::string_view text) {
  put_bytes_ += text.size();
  FRAMEFS_CHECK(net::check_manifest_bytes(put_bytes_));
  return put_(text);
}

}  // namespace framefs
