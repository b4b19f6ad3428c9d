#include "fs/tree/records/kernel_pages.h"

#include "tests/support/catch.h"

namespace framefs::fs::kernel_pages_test {
namespace {

constexpr FileIdentity kOld{.device = 1, .inode = 2, .size = 10, .mtime_ns = 100, .ctime_ns = 100};
constexpr FileIdentity kNew{.device = 1, .inode = 2, .size = 20, .mtime_ns = 200, .ctime_ns = 200};

// `identity` after a change of the mode.
FileIdentity with_ctime(FileIdentity identity, std::int64_t ctime_ns) {
  identity.ctime_ns = ctime_ns;
  return identity;
}

TEST_CASE("kernel_pages: pages are kept for the content that they have",
          "[fs][kernel_pages][unit]") {
  KernelPages pages;
  CHECK_FALSE(pages.open({kOld}));
  CHECK(pages.open({kOld}));
  CHECK_FALSE(pages.open({kNew}));
  CHECK(pages.are_of(kNew));
  pages.forget();
  CHECK_FALSE(pages.open({kNew}));
}

TEST_CASE("kernel_pages: pages of a session are kept while it writes, and after it has ended",
          "[fs][kernel_pages][unit]") {
  KernelPages pages;
  CHECK_FALSE(pages.open({kOld, 5}));
  CHECK(pages.open({kNew, 5}));
  CHECK_FALSE(pages.open({kOld, 6}));
  pages.end_session(kNew);
  CHECK(pages.open({kNew}));
  // The end of a session of whose bytes there are no pages.
  pages.end_session(kOld);
  CHECK(pages.are_of(kNew));
}

TEST_CASE("kernel_pages: the size is that of the first lookup or of the last opening",
          "[fs][kernel_pages][unit]") {
  KernelPages pages;
  CHECK(pages.may_have_size_of(kOld));
  pages.note_size(kOld, false);
  pages.note_size(kNew, false);  // a later lookup
  CHECK(pages.may_have_size_of(with_ctime(kOld, 300)));
  CHECK_FALSE(pages.may_have_size_of(kNew));
  KernelPages written;
  written.note_size(kOld, true);
  CHECK(written.may_have_size_of(kNew));
  written.end_session(kNew);
  CHECK_FALSE(written.may_have_size_of(kOld));
}

TEST_CASE("kernel_pages: another time of modification leaves the size, and keeps no pages",
          "[fs][kernel_pages][unit]") {
  KernelPages pages;
  pages.open({kOld});
  auto touched = with_ctime(kOld, 300);
  touched.mtime_ns = 300;
  pages.note_attributes({touched});
  CHECK(pages.may_have_size_of(touched));
  CHECK_FALSE(pages.are_of(touched));
  // Another program has changed the size.
  auto longer = touched;
  longer.size = 30;
  pages.note_attributes({longer});
  CHECK_FALSE(pages.may_have_size_of(longer));
  // The mount has changed it.
  pages.note_attributes({longer, 5});
  pages.end_session(longer);
  CHECK(pages.may_have_size_of(longer));
}

}  // namespace
}  // namespace framefs::fs::kernel_pages_test
