#include "fs/tree/frame_probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <span>

#include "codec/frame/frame_header.h"
#include "fs/tree/name_policy.h"

namespace framefs::fs {
namespace {

FrameSummary summarise(std::span<const std::byte> head) {
  FrameSummary summary{.is_frame = codec::has_frame_magic(head)};
  if (!summary.is_frame) return summary;
  if (const auto header = codec::parse_frame_header(head)) {
    summary.is_sparse = header->type == codec::FrameType::sparse;
    summary.nbytes = header->nbytes;
    summary.chunksize = header->chunksize;
  }
  return summary;
}

FrameSummary read_summary(int file) {
  std::array<std::byte, codec::kFrameFixedHeaderBytes> head{};
  const auto got = ::pread(file, head.data(), head.size(), 0);
  if (got <= 0) return {};
  return summarise(std::span(head).first(static_cast<std::size_t>(got)));
}

}  // namespace

std::size_t FrameProbe::IdentityHash::operator()(const FileIdentity& id) const noexcept {
  const std::hash<std::uint64_t> hash;
  return hash(id.inode * 0x9e3779b97f4a7c15ULL + id.device) ^
         hash(static_cast<std::uint64_t>(id.mtime_ns));
}

std::optional<FrameSummary> FrameProbe::recall(const FileIdentity& identity) const {
  return known_.with([&](const auto& map) {
    const auto at = map.find(identity);
    return at == map.end() ? std::nullopt : std::optional(at->second);
  });
}

void FrameProbe::remember(const FileIdentity& identity, const FrameSummary& summary) {
  known_.with([&](auto& map) {
    if (map.size() >= kMostFiles) map.clear();
    map.insert_or_assign(identity, summary);
  });
}

FrameSummary FrameProbe::probe_open(int file, const FileIdentity& identity) {
  if (const auto known = recall(identity)) return *known;
  const auto summary = read_summary(file);
  remember(identity, summary);
  return summary;
}

Result<ProbedFile> FrameProbe::probe(int directory, const std::string& name) {
  ProbedFile file;
  if (::fstatat(directory, name.c_str(), &file.stat, AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error("stat");
  }
  if (!S_ISREG(file.stat.st_mode) || !stripped_name(name)) return file;
  const auto identity = identity_of(file.stat);
  if (const auto known = recall(identity)) {
    file.summary = *known;
  } else {
    // O_NONBLOCK: should the file have become a fifo since it was looked at.
    const UniqueFd fd(
        ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd) return file;
    file.summary = read_summary(fd.get());
    remember(identity, file.summary);
  }
  // Part of a sparse frame, not a frame by itself.
  if (name == kSparseIndexName && file.summary.is_sparse) file.summary = {};
  return file;
}

}  // namespace framefs::fs
