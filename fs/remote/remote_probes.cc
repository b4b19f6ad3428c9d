#include "fs/remote/remote_probes.h"

#include <utility>

#include <fmt/core.h>

#include "fs/remote/object_head.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {

bool has_version(const net::RemoteEntry& entry) {
  const bool has_validator = !entry.etag.empty() || entry.mtime_ns != 0;
  return !entry.is_directory && entry.is_exact && has_validator;
}

std::string version_text(const net::ObjectVersion& version) {
  if (version.is_strong()) return version.etag;
  return fmt::format("{:x} {:x}", version.key.high, version.key.low);
}

net::ContentKey RemoteProbes::state_of(std::chrono::steady_clock::time_point taken,
                                       const net::RemoteEntry& entry, Expected expected) {
  // No part of the text holds a zero byte.
  std::string text = entry.etag;
  text.append(1, '\0').append(std::to_string(entry.size)).append(1, '\0');
  // Equal ETags imply equal bytes, even if the object was copied since.
  if (entry.etag.empty()) text += std::to_string(entry.mtime_ns);
  text.append(1, '\0').append(1, static_cast<char>(expected));
  // Without a version, a probe counts for one listing.
  if (!has_version(entry)) text += std::to_string(taken.time_since_epoch().count());
  return net::content_key(text);
}

std::optional<RemoteProbe> RemoteProbes::find(const std::string& path,
                                              const net::ContentKey& state) const {
  return probes_.with([&](const auto& probes) -> std::optional<RemoteProbe> {
    const auto found = probes.find(net::content_key(path));
    if (found == probes.end() || found->second.state != state) return std::nullopt;
    return found->second.probe;
  });
}

bool RemoteProbes::remember(const std::string& path, const net::ContentKey& state,
                            const RemoteProbe& probe) {
  return probes_.with([&](auto& known) {
    const bool at_maximum = known.size() >= kMaxProbes;
    if (at_maximum) known.clear();
    known.insert_or_assign(net::content_key(path), KnownProbe{state, probe});
    return at_maximum;
  });
}

bool RemoteProbes::forget_other(const std::string& path, const net::ObjectVersion& version) {
  return probes_.with([&](auto& probes) {
    const auto found = probes.find(net::content_key(path));
    if (found == probes.end() || found->second.probe.version.empty()) return false;
    if (found->second.probe.version == version_text(version)) return false;
    probes.erase(found);
    return true;
  });
}

void RemoteProbes::remember_head(const std::string& path, const FrameSummary& summary,
                                 const net::RemoteOpened& opened) {
  const bool is_frame = summary.content == Content::frame || summary.content == Content::array;
  const auto& version = opened.object->version();
  // The open of a short frame fetches all of it.
  const bool has_ranges = !opened.object->is_whole_only();
  if (!is_frame || !has_ranges || !version.is_strong() || version.size <= net::kHeadBytes) return;
  heads_.with([&](auto& known) {
    if (known.size() >= kMaxHeads) known.clear();
    known.insert_or_assign(path, KnownHead{version, opened.part});
  });
}

std::optional<KnownHead> RemoteProbes::head(const std::string& path) const {
  return heads_.with([&](const auto& heads) -> std::optional<KnownHead> {
    const auto found = heads.find(path);
    if (found == heads.end()) return std::nullopt;
    return found->second;
  });
}

void RemoteProbes::learn(const std::string& path, const net::RemoteEntry& entry) {
  const auto expected = expected_content(name_part(path));
  if (expected == Expected::nothing || !has_version(entry)) return;
  const ObjectHead head(entry.head, entry.size);
  RemoteProbe probe;
  probe.summary = summarise(head, expected, limits_);
  if (head.is_short()) return;
  // The index of a sparse frame is a part of it, not a frame by itself.
  if (probe.summary.is_sparse) probe.summary = {};
  probe.version = entry.etag;
  const KnownProbe known{state_of({}, entry, expected), probe};
  probes_.with([&](auto& probes) {
    if (probes.size() < kMaxProbes) probes.insert_or_assign(net::content_key(path), known);
  });
}

}  // namespace framefs::fs
