#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/container/container_limits.h"
#include "codec/core/byte_source.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// Whether the bytes of a member can be read where they stand.
enum class ZipForm : std::uint8_t {
  stored,   // they can
  packed,   // compressed or encrypted
  damaged,  // stored, but the directory gives two sizes
};

// A file in an archive.
struct ZipMember {
  std::string name;        // satisfies is_container_path(); bytes as stored, in whatever charset
  std::uint64_t size = 0;  // bytes, as a reader gets them
  std::uint64_t header_at = 0;  // its local header in the archive
  std::uint64_t ends_by = 0;    // where in the archive the next member begins, or the directory
  ZipForm form = ZipForm::stored;
};

// The directory of a .b2z archive: a ZIP file, with or without the 64-bit extensions, whose members
// are read in place.  Members that cannot be are listed all the same; what a damaged entry says of
// one member harms no other.
// Immutable after read(); any number of threads may use it.
// Source: store format, "Archives"; .ZIP File Format Specification (APPNOTE), 4.3 to 4.5.
class ZipDirectory {
 public:
  // Reads the end of the archive and its central directory; of the members themselves nothing.
  // Errors: truncated, bad_field, unsupported (several disks), over_limit, with offsets in the
  // archive; those of the source.
  static Result<ZipDirectory> read(const ByteSource& archive, const ContainerLimits& limits);

  // In the order of the directory; of several with one name the last, as for other readers.
  [[nodiscard]] const std::vector<ZipMember>& members() const noexcept { return members_; }

  // How many entries were left out because is_container_path() refuses their name.  Entries for
  // directories are not among them: directories are what the paths of files lead through.
  [[nodiscard]] std::uint64_t refused_names() const noexcept { return refused_names_; }

 private:
  ZipDirectory() = default;

  std::vector<ZipMember> members_;
  std::uint64_t refused_names_ = 0;
};

// Where in the archive the bytes of a member stand: behind its local header, which is read for this
// and has to agree with the directory.
// Errors: unsupported for a packed member; bad_field for a damaged one; truncated where it passes the
// archive's members or lies over the next one; all with offsets in the archive; those of the source.
Result<ByteRange> locate_member(const ByteSource& archive, const ZipMember& member);

}  // namespace framefs::codec
