#include "codec/container/zip_directory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>

#include "codec/container/container_path.h"
#include "codec/core/byte_reader.h"

namespace framefs::codec {
namespace {

// Source: APPNOTE, the section named behind each constant.
constexpr std::uint32_t kLocalSignature = 0x04034b50;      // 4.3.7
constexpr std::uint32_t kEntrySignature = 0x02014b50;      // 4.3.12
constexpr std::uint32_t kEnd64Signature = 0x06064b50;      // 4.3.14
constexpr std::uint32_t kLocator64Signature = 0x07064b50;  // 4.3.15
constexpr std::uint32_t kEndSignature = 0x06054b50;        // 4.3.16
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kMaxCommentBytes = 0xFFFF;
constexpr std::uint16_t kExtra64 = 0x0001;  // 4.5.3
// The value of a field whose number is in the 64-bit record or extension.
constexpr std::uint16_t kSee64Short = 0xFFFF;
constexpr std::uint32_t kSee64 = 0xFFFFFFFF;
// Flag bits (4.4.4): the two kinds of encryption, and masked names.
constexpr std::uint16_t kEncryptedFlags = 0x0001 | 0x0040 | 0x2000;

// The location of the central directory.
struct DirectoryPlace {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;
  std::uint64_t base = 0;  // where the archive begins; its offsets count from there
};

struct EndRecord {
  DirectoryPlace place;
  std::uint64_t at = 0;  // offset of the record in the archive
  bool see_64 = false;
};

// An end record at offset `at` of the tail.
struct EndCandidate {
  std::size_t at = 0;
  bool ends_archive = false;  // its comment ends with the last byte
};
std::optional<EndCandidate> end_record_at(std::span<const std::byte> tail, std::size_t at) {
  if (load_le<std::uint32_t>(tail.data() + at) != kEndSignature) return std::nullopt;
  const auto left = tail.size() - at - kEndBytes;
  const auto comment = load_le<std::uint16_t>(tail.data() + at + kEndBytes - 2);
  if (comment > left) return std::nullopt;
  return EndCandidate{at, comment == left};
}

// Returns the last end record whose comment ends the archive.  If there is none, because bytes were
// appended to the archive, returns the last end record.
std::optional<std::size_t> find_end_record(std::span<const std::byte> tail) {
  std::optional<std::size_t> found;
  for (std::size_t at = tail.size() - kEndBytes + 1; at-- > 0;) {
    const auto candidate = end_record_at(tail, at);
    if (!candidate) continue;
    if (candidate->ends_archive) return at;
    if (!found) found = at;
  }
  return found;
}

Result<EndRecord> read_end_record(const ByteSource& archive, std::uint64_t archive_bytes) {
  if (archive_bytes < kEndBytes) return fail(Errc::truncated, "zip end record");
  const auto tail_bytes = std::min<std::uint64_t>(archive_bytes, kEndBytes + kMaxCommentBytes);
  const auto tail_at = archive_bytes - tail_bytes;
  std::vector<std::byte> tail(tail_bytes);
  FRAMEFS_CHECK(archive.read_at(tail_at, tail));
  const auto found = find_end_record(tail);
  if (!found) return fail(Errc::bad_field, "zip end record", tail_at);

  const std::byte* const record = tail.data() + *found;
  EndRecord out;
  out.at = tail_at + *found;
  const auto disk = load_le<std::uint16_t>(record + 4);
  const auto directory_disk = load_le<std::uint16_t>(record + 6);
  const auto entries = load_le<std::uint16_t>(record + 10);
  const auto size = load_le<std::uint32_t>(record + 12);
  const auto offset = load_le<std::uint32_t>(record + 16);
  out.place = {.offset = offset, .size = size, .entries = entries};
  out.see_64 = entries == kSee64Short || size == kSee64 || offset == kSee64;
  if (!out.see_64 && (disk != 0 || directory_disk != 0)) {
    return fail_value(Errc::unsupported, "zip disks", out.at + 4, disk);
  }
  return out;
}

// Reads the 64-bit end record; nothing if no locator precedes the end record.
Result<std::optional<DirectoryPlace>> read_end_record_64(const ByteSource& archive,
                                                         std::uint64_t end_at) {
  if (end_at < kLocator64Bytes) return std::nullopt;
  const auto locator_at = end_at - kLocator64Bytes;
  std::array<std::byte, kLocator64Bytes> locator{};
  FRAMEFS_CHECK(archive.read_at(locator_at, locator));
  // An archive of exactly 65535 members may have no 64-bit record.
  if (load_le<std::uint32_t>(locator.data()) != kLocator64Signature) return std::nullopt;
  const auto at = load_le<std::uint64_t>(locator.data() + 8);
  if (at > locator_at || kEnd64Bytes > locator_at - at) {
    return fail(Errc::bad_field, "zip64 locator", locator_at + 8);
  }
  std::array<std::byte, kEnd64Bytes> record{};
  FRAMEFS_CHECK(archive.read_at(at, record));
  if (load_le<std::uint32_t>(record.data()) != kEnd64Signature) {
    return fail(Errc::bad_field, "zip64 end record", at);
  }
  const auto disk = load_le<std::uint32_t>(record.data() + 16);
  const auto directory_disk = load_le<std::uint32_t>(record.data() + 20);
  if (disk != 0 || directory_disk != 0) {
    return fail_value(Errc::unsupported, "zip disks", at + 16, disk);
  }
  return DirectoryPlace{.offset = load_le<std::uint64_t>(record.data() + 48),
                        .size = load_le<std::uint64_t>(record.data() + 40),
                        .entries = load_le<std::uint64_t>(record.data() + 32)};
}

bool is_entry_at(const ByteSource& archive, std::uint64_t at) {
  std::array<std::byte, 4> signature{};
  return archive.read_at(at, signature) &&
         load_le<std::uint32_t>(signature.data()) == kEntrySignature;
}

// Returns the number of bytes before the archive.  The directory ends where the end record begins.
std::uint64_t bytes_before(const ByteSource& archive, const EndRecord& end) {
  const auto gap = end.at - end.place.size - end.place.offset;
  if (end.see_64 || gap == 0 || end.place.entries == 0) return 0;
  if (is_entry_at(archive, end.place.offset)) return 0;
  return is_entry_at(archive, end.place.offset + gap) ? gap : 0;
}

Result<DirectoryPlace> find_directory(const ByteSource& archive, const ContainerLimits& limits) {
  FRAMEFS_TRY(const auto archive_bytes, archive.size());
  FRAMEFS_TRY(const auto end, read_end_record(archive, archive_bytes));
  DirectoryPlace place = end.place;
  if (end.see_64) {
    FRAMEFS_TRY(const auto place_64, read_end_record_64(archive, end.at));
    place = place_64.value_or(place);
  }
  if (place.size > end.at || place.offset > end.at - place.size) {
    return fail(Errc::bad_field, "zip directory", end.at);
  }
  place.base = bytes_before(archive, end);
  place.offset += place.base;
  if (place.size > limits.directory_bytes) return fail(Errc::over_limit, "zip directory", end.at);
  if (place.entries > limits.members) return fail(Errc::over_limit, "zip members", end.at);
  if (place.entries > place.size / kEntryBytes) {
    return fail(Errc::bad_field, "zip members", end.at);
  }
  return place;
}

// One entry of the central directory, unchecked.
struct Entry {
  std::string_view name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_at = 0;
};

// Replaces the fields that refer to the 64-bit extension.  The extension has only those, in this
// order.
void apply_extra_64(std::span<const std::byte> extra, Entry& entry) {
  ByteReader in(extra);
  while (in.remaining() >= 4) {
    const auto id = in.le<std::uint16_t>("zip extra");
    const auto size = in.le<std::uint16_t>("zip extra");
    if (!id || !size || *size > in.remaining()) return;
    const auto body = in.take(*size, "zip extra");
    if (*id != kExtra64 || !body) continue;
    ByteReader numbers(*body);
    for (auto* const number : {&entry.size, &entry.stored_size, &entry.header_at}) {
      if (*number != kSee64) continue;
      const auto wide = numbers.le<std::uint64_t>("zip extra");
      // The extension is too short.  The field keeps its marker, which refers to no data.
      if (!wide) return;
      *number = *wide;
    }
    return;
  }
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()),  // char may alias any object
          bytes.size()};
}

// Errors: with offsets in the directory.
Result<Entry> parse_entry(ByteReader& in) {
  const auto at = in.position();
  FRAMEFS_TRY(const auto head, in.take(kEntryBytes, "zip entry"));
  if (load_le<std::uint32_t>(head.data()) != kEntrySignature) {
    return fail(Errc::bad_field, "zip entry", at);
  }
  const auto name_bytes = load_le<std::uint16_t>(head.data() + 28);
  const auto extra_bytes = load_le<std::uint16_t>(head.data() + 30);
  const auto comment_bytes = load_le<std::uint16_t>(head.data() + 32);
  FRAMEFS_TRY(const auto name, in.take(name_bytes, "zip entry"));
  FRAMEFS_TRY(const auto extra, in.take(extra_bytes, "zip entry"));
  FRAMEFS_TRY([[maybe_unused]] const auto comment, in.take(comment_bytes, "zip entry"));
  Entry entry{.name = as_text(name),
              .flags = load_le<std::uint16_t>(head.data() + 8),
              .method = load_le<std::uint16_t>(head.data() + 10),
              .stored_size = load_le<std::uint32_t>(head.data() + 20),
              .size = load_le<std::uint32_t>(head.data() + 24),
              .header_at = load_le<std::uint32_t>(head.data() + 42)};
  apply_extra_64(extra, entry);
  return entry;
}

// The limit of each member: the next higher header offset, or the start of the directory.
std::vector<std::uint64_t> entry_ends(const std::vector<Entry>& entries,
                                      std::uint64_t directory_at) {
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  order.reserve(entries.size());
  for (const auto& entry : entries) order.emplace_back(entry.header_at, order.size());
  std::ranges::sort(order);
  std::vector<std::uint64_t> ends(entries.size());
  std::uint64_t next = directory_at;
  for (const auto& [header_at, index] : std::views::reverse(order)) {
    ends[index] = next;
    next = std::min(next, header_at);
  }
  return ends;
}

ZipForm form_of(const Entry& entry) {
  if (entry.method != 0 || (entry.flags & kEncryptedFlags) != 0) return ZipForm::packed;
  return entry.size == entry.stored_size ? ZipForm::stored : ZipForm::damaged;
}

}  // namespace

Result<ZipDirectory> ZipDirectory::read(const ByteSource& archive, const ContainerLimits& limits) {
  FRAMEFS_TRY(const auto place, find_directory(archive, limits));
  std::vector<std::byte> bytes(place.size);
  FRAMEFS_CHECK(archive.read_at(place.offset, bytes));
  ByteReader in(bytes);
  std::vector<Entry> entries;
  entries.reserve(place.entries);
  while (entries.size() < place.entries) {
    auto entry = parse_entry(in);
    if (!entry) {
      entry.error().at += place.offset;
      return std::unexpected(entry.error());
    }
    entry->header_at += place.base;
    entries.push_back(*entry);
  }

  const auto ends = entry_ends(entries, place.offset);
  ZipDirectory out;
  out.directory_bytes_ = place.size;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (entry.name.ends_with('/')) continue;
    auto name = without_dots(entry.name);
    if (!is_container_path(name)) {
      ++out.refused_names_;
      continue;
    }
    out.members_.push_back({.name = std::move(name),
                            .size = entry.size,
                            .header_at = entry.header_at,
                            .ends_by = ends[i],
                            .form = form_of(entry)});
  }
  keep_last_of_each(out.members_, &ZipMember::name);
  return out;
}

bool is_archive_behind_bytes(const ByteSource& file) {
  const auto place = find_directory(file, {});
  return place && place->entries > 0 && is_entry_at(file, place->offset);
}

Result<ByteRange> locate_member(const ByteSource& archive, const ZipMember& member) {
  const auto at = member.header_at;
  if (member.form == ZipForm::packed) return fail(Errc::unsupported, "zip method", at);
  if (member.form == ZipForm::damaged) return fail(Errc::bad_field, "zip member size", at);
  if (at > member.ends_by || kLocalBytes > member.ends_by - at) {
    return fail(Errc::truncated, "zip local header", at);
  }
  std::array<std::byte, kLocalBytes> head{};
  FRAMEFS_CHECK(archive.read_at(at, head));
  if (load_le<std::uint32_t>(head.data()) != kLocalSignature) {
    return fail(Errc::bad_field, "zip local header", at);
  }
  const auto flags = load_le<std::uint16_t>(head.data() + 6);
  const auto method = load_le<std::uint16_t>(head.data() + 8);
  if (method != 0 || (flags & kEncryptedFlags) != 0) {
    return fail_value(Errc::bad_field, "zip local header", at + 6, method);
  }
  const std::uint64_t name_bytes = load_le<std::uint16_t>(head.data() + 26);
  const std::uint64_t extra_bytes = load_le<std::uint16_t>(head.data() + 28);
  const auto left = member.ends_by - at - kLocalBytes;
  if (name_bytes + extra_bytes > left || member.size > left - name_bytes - extra_bytes) {
    return fail(Errc::truncated, "zip member", at);
  }
  // The name shows that two entries share one local header, or that the member was overwritten.
  std::vector<std::byte> name(name_bytes);
  FRAMEFS_CHECK(archive.read_at(at + kLocalBytes, name));
  if (without_dots(as_text(name)) != member.name) {
    return fail(Errc::bad_field, "zip member name", at + 26);
  }
  return ByteRange{at + kLocalBytes + name_bytes + extra_bytes, member.size};
}

}  // namespace framefs::codec
