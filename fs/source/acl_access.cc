#include "fs/source/acl_access.h"

#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "codec/core/byte_reader.h"
#include "fs/core/files/file.h"

namespace framefs::fs {
namespace {

constexpr const char* kAccess = "system.posix_acl_access";
constexpr const char* kDefault = "system.posix_acl_default";
constexpr std::uint32_t kVersion = 2;
constexpr std::uint16_t kTagUser = 0x02;
constexpr std::uint16_t kTagGroupObj = 0x04;
constexpr std::uint16_t kTagGroup = 0x08;
constexpr std::uint16_t kTagMask = 0x10;

constexpr mode_t kGroupAndOther = S_IRWXG | S_IRWXO;
constexpr unsigned kGroupShift = 3;

struct Granted {
  mode_t group_obj = S_IRWXO;
  mode_t named = S_IRWXO;
  mode_t mask = S_IRWXO;
};

codec::Result<Granted> parse(std::span<const std::byte> list) {
  constexpr std::size_t kEntryBytes = 8;
  codec::ByteReader in(list);
  FRAMEFS_TRY(const auto version, in.le<std::uint32_t>("version"));
  if (version != kVersion || (list.size() - in.position()) % kEntryBytes != 0) {
    return codec::fail(codec::Errc::bad_field, "access control list");
  }
  Granted granted;
  while (in.position() < list.size()) {
    FRAMEFS_TRY(const auto tag, in.le<std::uint16_t>("tag"));
    FRAMEFS_TRY(const auto bits, in.le<std::uint16_t>("rights"));
    FRAMEFS_TRY([[maybe_unused]] const auto id, in.le<std::uint32_t>("id"));
    if (tag == kTagGroupObj) granted.group_obj = bits;
    if (tag == kTagMask) granted.mask = bits;
    if (tag == kTagUser || tag == kTagGroup) granted.named &= bits;
  }
  return granted;
}

template <class Get>
void heed_acl_of(struct stat& st, const std::string& path, const Get& get) {
  if (S_ISLNK(st.st_mode)) return;  // symbolic links have no list
  std::array<std::byte, 1024> buffer{};
  const auto size = get(path.c_str(), kAccess, buffer.data(), buffer.size());
  if (size >= 0) {
    const auto list = std::span(buffer).first(static_cast<std::size_t>(size));
    st.st_mode = mode_within_acl(st.st_mode, list);
  } else if (errno == ERANGE) {
    st.st_mode &= ~kGroupAndOther;  // the list has too many entries for the buffer
  }
}

}  // namespace

bool is_access_list(std::string_view name) noexcept { return name == kAccess || name == kDefault; }

bool has_default_acl(int directory) {
  return ::getxattr(path_of_fd(directory).c_str(), kDefault, nullptr, 0) > 0;
}

mode_t mode_within_acl(mode_t mode, std::span<const std::byte> list) {
  const auto granted = parse(list);
  // A list that cannot be parsed grants rights to the owner only.
  if (!granted) return mode & ~kGroupAndOther;
  const mode_t named = granted->named & granted->mask;
  const mode_t group = granted->group_obj & granted->mask & named & S_IRWXO;
  const mode_t most = (group << kGroupShift) | (named & S_IRWXO);
  return mode & (most | ~kGroupAndOther);
}

void heed_acl(struct stat& st, int fd) { heed_acl_of(st, path_of_fd(fd), ::getxattr); }

void heed_acl(struct stat& st, int fd, const std::string& name) {
  heed_acl_of(st, path_of_fd(fd) + "/" + name, ::lgetxattr);
}

}  // namespace framefs::fs
