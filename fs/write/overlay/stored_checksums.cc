#include "fs/write/overlay/stored_checksums.h"

#include <utility>

#include "codec/frame/frame_trailer.h"

namespace framefs::fs {

void StoredChecksums::keep(std::span<const std::int64_t> entries,
                           std::span<const codec::ChunkChecksum> known) {
  std::unordered_map<std::int64_t, codec::ChunkChecksum> by_entry;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (entries[i] >= 0 && known[i].exists()) by_entry.emplace(entries[i], known[i]);
  }
  by_entry_.with([&](auto& all) { all = std::move(by_entry); });
  are_kept_.store(true, std::memory_order_release);
}

void StoredChecksums::note(std::int64_t entry, std::span<const std::byte> chunk) {
  if (!are_kept()) return;
  const auto checksum = codec::checksum_of(chunk);
  by_entry_.with([&](auto& all) { all[entry] = checksum; });
}

void StoredChecksums::copy(std::int64_t from, std::int64_t to) {
  if (!are_kept()) return;
  by_entry_.with([&](auto& all) {
    const auto found = all.find(from);
    if (found == all.end()) {
      all.erase(to);
    } else {
      const auto checksum = found->second;
      all[to] = checksum;
    }
  });
}

void StoredChecksums::forget(std::int64_t entry) {
  if (!are_kept()) return;
  by_entry_.with([&](auto& all) { all.erase(entry); });
}

codec::ChunkChecksum StoredChecksums::of(std::int64_t entry) const {
  if (!are_kept()) return {};
  return by_entry_.with([&](const auto& all) {
    const auto found = all.find(entry);
    return found == all.end() ? codec::ChunkChecksum{} : found->second;
  });
}

std::vector<codec::ChunkChecksum> StoredChecksums::of(std::span<const std::int64_t> entries) const {
  std::vector<codec::ChunkChecksum> checksums;
  if (!are_kept()) return checksums;
  checksums.reserve(entries.size());
  by_entry_.with([&](const auto& all) {
    for (const auto entry : entries) {
      const auto found = all.find(entry);
      checksums.push_back(found == all.end() ? codec::ChunkChecksum{} : found->second);
    }
  });
  return checksums;
}

codec::Status StoredChecksums::verify(const codec::ByteSource& chunks,
                                      const codec::FrameHeader& header, std::int64_t entry) const {
  return codec::verify_chunk(chunks, header, entry, of(entry));
}

codec::Result<std::vector<std::byte>> StoredChecksums::encode_trailer(
    std::span<const codec::NamedContent> vlmetalayers, std::span<const std::int64_t> entries,
    std::span<const codec::ChunkChecksum> known) const {
  return are_kept() ? codec::encode_trailer_with_checksums(vlmetalayers, entries, known)
                    : codec::encode_trailer(vlmetalayers);
}

}  // namespace framefs::fs
