#include "fs/remote/remote_manifest.h"

#include <cerrno>
#include <span>

#include <fmt/core.h>

#include "fs/core/error_map.h"
#include "fs/core/interrupt.h"

namespace framefs::fs {

void RemoteManifest::load(const net::RemoteEntry& entry, const Learn& learn) {
  const auto version = fmt::format("{} {} {}", entry.etag, entry.size, entry.mtime_ns);
  const bool must_load = state_.wait_unless(
      interrupted, [](const State& state) { return !state.is_loading; },
      [&](State& state) {
        if (state.is_loading || state.version == version) return false;
        return state.is_loading = true;
      });
  if (!must_load) return;
  const auto loaded = read(learn);
  const bool is_interrupted = !loaded && loaded.error().sys == EINTR;
  state_.with_and_wake([&](State& state) {
    state.is_loading = false;
    if (!is_interrupted) state.version = version;
  });
  if (!loaded && !is_interrupted) {
    log_.warn(fmt::format("{} is not used: {}", net::kManifestName, describe(loaded.error())));
  }
}

void RemoteManifest::forget() {
  state_.with([](State& state) { state.version.clear(); });
}

Status RemoteManifest::read(const Learn& learn) {
  FRAMEFS_TRY(const auto opened, store_.objects().open(net::kManifestName));
  const auto size = opened.object->version().size;
  if (size > net::kMaxManifestBytes) return codec::fail(Errc::over_limit, "manifest");
  std::string text(size, '\0');
  FRAMEFS_CHECK(store_.bytes_of(opened)->read_at(0, std::as_writable_bytes(std::span(text))));
  FRAMEFS_TRY(const auto files, net::parse_manifest(text));
  for (const auto& file : files) {
    if (file.entry.head) learn(file);
  }
  return {};
}

}  // namespace framefs::fs
