#include "fs/source/shown_access.h"

#include <cstdint>
#include <vector>

#include "fs/source/acl_access.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"

namespace framefs::fs::shown_access_test {
namespace {

struct stat file_of(uid_t user, gid_t group, mode_t mode) {
  struct stat st{};
  st.st_uid = user;
  st.st_gid = group;
  st.st_mode = S_IFREG | mode;
  return st;
}

// Whether a user may read (4) or write (2) by a mode, as the kernel decides it.
bool may(const struct stat& st, uid_t user, gid_t group, mode_t right) {
  const unsigned shift = st.st_uid == user ? 6 : st.st_gid == group ? 3 : 0;
  return ((st.st_mode >> shift) & right) == right;
}

// Oracle: the kernel's rule for the directory and for the index, for every user, group and mode of
// a small world.
TEST_CASE("shown_access: a sparse frame shows nothing that its directory or index denies",
          "[fs][shown_access][unit]") {
  constexpr mode_t kRead = 4;
  constexpr mode_t kWrite = 2;
  constexpr mode_t kSearch = 1;
  const std::vector<mode_t> folders = {0777, 0755, 0700, 0750, 0711, 0070, 0007, 0500, 0555};
  const std::vector<mode_t> indexes = {0666, 0644, 0600, 0640, 0444, 0060, 0006, 0604, 0222};
  for (const auto folder_mode : folders) {
    for (const auto index_mode : indexes) {
      for (uid_t index_user = 1; index_user < 3; ++index_user) {
        for (gid_t index_group = 1; index_group < 3; ++index_group) {
          const auto folder = file_of(1, 1, folder_mode);
          const auto index = file_of(index_user, index_group, index_mode);
          auto shown = index;
          intersect_access(shown, folder);
          CHECK(shown.st_uid == 1);
          for (uid_t user = 1; user < 4; ++user) {
            for (gid_t group = 1; group < 4; ++group) {
              CAPTURE(folder_mode, index_mode, index_user, index_group, user, group);
              const bool is_inside = may(folder, user, group, kSearch);
              if (may(shown, user, group, kRead)) {
                CHECK((is_inside && may(index, user, group, kRead)));
              }
              if (may(shown, user, group, kWrite)) {
                CHECK((may(folder, user, group, kWrite | kSearch) &&
                       may(index, user, group, kWrite)));
              }
            }
          }
        }
      }
    }
  }
  auto usual = file_of(1, 1, 0644);
  intersect_access(usual, file_of(1, 1, 0755));
  CHECK(usual.st_mode == (S_IFREG | 0644));
}

TEST_CASE("shown_access: a chunk file that grants less than the index is recognised",
          "[fs][shown_access][unit]") {
  CHECK(grants_reading(file_of(1, 1, 0644), file_of(1, 1, 0644)));
  CHECK(grants_reading(file_of(1, 1, 0444), file_of(1, 1, 0600)));
  CHECK_FALSE(grants_reading(file_of(1, 1, 0600), file_of(1, 1, 0644)));
  CHECK_FALSE(grants_reading(file_of(1, 1, 0640), file_of(1, 1, 0644)));
  CHECK(grants_reading(file_of(2, 1, 0644), file_of(1, 1, 0600)));
  CHECK_FALSE(grants_reading(file_of(2, 1, 0600), file_of(1, 1, 0600)));
  // The owner of the index file can take its rights away.
  CHECK_FALSE(grants_reading(file_of(2, 1, 0600), file_of(1, 1, 0)));
  CHECK_FALSE(grants_reading(file_of(2, 1, 0644 & ~S_IRUSR), file_of(1, 1, 0)));
  CHECK(grants_reading(file_of(2, 2, 0444), file_of(1, 1, 0644)));
  CHECK_FALSE(grants_reading(file_of(1, 2, 0640), file_of(1, 1, 0640)));
}

struct AclEntry {
  std::uint16_t tag;
  std::uint16_t rights;
  std::uint32_t id = 0xffffffff;
};

test::Bytes acl(const std::vector<AclEntry>& entries) {
  test::Bytes bytes;
  const auto put = [&](std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  };
  put(2, 4);
  for (const auto& [tag, rights, id] : entries) {
    put(tag, 2);
    put(rights, 2);
    put(id, 4);
  }
  return bytes;
}

TEST_CASE("acl_access: a mode is shown without rights that the list denies to some",
          "[fs][acl_access][unit]") {
  constexpr mode_t kFile = S_IFREG;
  // The group's bits of the mode are the mask: user 7 may read, the group may not.
  CHECK(mode_within_acl(kFile | 0640, acl({{1, 6}, {2, 4, 7}, {4, 0}, {16, 4}, {32, 0}})) ==
        (kFile | 0600));
  CHECK(mode_within_acl(kFile | 0664, acl({{1, 6}, {2, 6, 7}, {4, 4}, {16, 6}, {32, 4}})) ==
        (kFile | 0644));
  // User 7 is denied the rights that all others have.
  CHECK(mode_within_acl(kFile | 0644, acl({{1, 6}, {2, 0, 7}, {4, 4}, {16, 4}, {32, 4}})) ==
        (kFile | 0600));
  CHECK(mode_within_acl(kFile | 0644, acl({{1, 6}, {4, 4}, {8, 0, 9}, {16, 4}, {32, 4}})) ==
        (kFile | 0600));
  CHECK(mode_within_acl(kFile | 0644, acl({{1, 6}, {4, 4}, {32, 4}})) == (kFile | 0644));
  CHECK(mode_within_acl(kFile | 0644, test::Bytes(3)) == (kFile | 0600));
  CHECK(mode_within_acl(kFile | 0644, test::Bytes(13)) == (kFile | 0600));
}

}  // namespace
}  // namespace framefs::fs::shown_access_test
