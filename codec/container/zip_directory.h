#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/container/container_limits.h"
#include "codec/core/byte_source.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// Whether the bytes of a member can be read in place.
enum class ZipForm : std::uint8_t {
  stored,   // uncompressed: can be read in place
  packed,   // compressed or encrypted
  damaged,  // stored, but the directory gives two sizes
};

// A file in an archive.
struct ZipMember {
  std::string name;             // without_dots(); satisfies is_container_path(); in any charset
  std::uint64_t size = 0;       // bytes, as seen by a reader
  std::uint64_t header_at = 0;  // offset of its local header in the archive
  std::uint64_t ends_by = 0;  // offset in the archive where the next member or the directory begins
  ZipForm form = ZipForm::stored;
};

// The directory of a .b2z archive.  Such an archive is a ZIP file, with or without the 64-bit
// extensions; framefs reads its members in place.  The directory also lists members that cannot be
// read in place.  A damaged entry affects only its own member.
// Immutable after read(); any number of threads may use it.
// Source: container format, "Archives"; .ZIP File Format Specification (APPNOTE), 4.3 to 4.5.
class ZipDirectory {
 public:
  // Reads the end of the archive and its central directory, and nothing of the members.
  // Errors: truncated, bad_field, unsupported (several disks), over_limit, with offsets in the
  // archive; errors of `archive`.
  static Result<ZipDirectory> read(const ByteSource& archive, const ContainerLimits& limits);

  // In the order of the directory.  If several members have the same name, the last one counts, as
  // in other ZIP readers.
  [[nodiscard]] const std::vector<ZipMember>& members() const noexcept { return members_; }

  // The number of entries that were left out because is_container_path() refuses their name.
  // Entries for directories do not count: the paths of files imply the directories.
  [[nodiscard]] std::uint64_t refused_names() const noexcept { return refused_names_; }

  // The size of the central directory.
  [[nodiscard]] std::uint64_t directory_bytes() const noexcept { return directory_bytes_; }

 private:
  ZipDirectory() = default;

  std::vector<ZipMember> members_;
  std::uint64_t refused_names_ = 0;
  std::uint64_t directory_bytes_ = 0;
};

// Whether the file is an archive behind other bytes, such as a program that unpacks it.  Offsets in
// the archive count from its own start, or from that of the file.  Other ZIP readers accept such
// files, too.
[[nodiscard]] bool is_archive_behind_bytes(const ByteSource& file);

// Returns the range of a member's bytes in the archive.  The range follows the local header, which
// is read for this and must agree with the directory.
// Errors: unsupported for a packed member; bad_field for a damaged one; truncated where the member
// extends beyond the area of members or into the next member; all with offsets in the archive.
// Also the errors of `archive`.
Result<ByteRange> locate_member(const ByteSource& archive, const ZipMember& member);

}  // namespace framefs::codec
