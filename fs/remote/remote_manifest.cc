#include "fs/remote/remote_manifest.h"

#include <cerrno>
#include <chrono>
#include <span>

#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"

namespace framefs::fs {
namespace {

// The listing of SOURCE may hold a part of the budget until the caller goes on.
constexpr std::chrono::seconds kMaxWaitForRoom{1};

}  // namespace

void RemoteManifest::load(const net::RemoteEntry& entry, const Learn& learn) {
  const auto version = fmt::format("{} {} {}", entry.etag, entry.size, entry.mtime_ns);
  const auto load_it = [&](const auto&) -> Status {
    if (loaded_.with([&](const std::string& loaded) { return loaded == version; })) return {};
    const auto loaded = read(learn);
    if (!loaded && loaded.error().sys == EINTR) return loaded;
    loaded_.with([&](std::string& last) { last = version; });
    if (!loaded) {
      log_.warn(fmt::format("{} is not used: {}", net::kManifestName, describe(loaded.error())));
    }
    return {};
  };
  // A caller that is interrupted goes on without the manifest.
  static_cast<void>(calls_.run(version, load_it));
}

void RemoteManifest::forget() {
  loaded_.with([](std::string& loaded) { loaded.clear(); });
}

Status RemoteManifest::read(const Learn& learn) {
  FRAMEFS_TRY(const auto opened, store_.objects().open(net::kManifestName));
  const auto size = opened.object->version().size;
  FRAMEFS_CHECK(net::check_manifest_bytes(size));
  FRAMEFS_TRY(const auto charge, store_.listing_budget().reserve(size, kMaxWaitForRoom));
  std::string text(size, '\0');
  FRAMEFS_CHECK(store_.bytes_of(opened)->read_at(0, std::as_writable_bytes(std::span(text))));
  // Nothing is learned from a damaged manifest, and the files together would take several times the
  // memory of the text.
  FRAMEFS_CHECK(net::parse_manifest(text, [](const auto&) { return Status(); }));
  return net::parse_manifest(text, [&](const net::ManifestFile& file) -> Status {
    if (file.entry.head) learn(file);
    return {};
  });
}

}  // namespace framefs::fs
