#include "fs/fuse/ops/operations.h"

#include <cerrno>
#include <new>
#include <stdexcept>

#include "tests/support/catch.h"
#include "tests/unit/fs/fuse/fake_kernel.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/test_mount.h"

namespace framefs::fuse::operations_test {
namespace {

using test::Bytes;
using test::FakeKernel;
using test::Reply;

constexpr std::uint64_t kRoot = 1;
constexpr std::uint64_t kNoHandle = 12345;

// A filesystem over a folder of its own, with the state that operations share.
struct Served {
  explicit Served(fs::MountOptions options = {}) : files(std::move(options)) {}

  Mount& mount() {
    if (!state) {
      // An aggregate, which make_unique() cannot make.
      state = std::unique_ptr<Mount>(new Mount{
          files.fs(), log.log(), false, 1.0, fs::DescriptorShares(false), {}, {}, {}, {}, {}});
    }
    return *state;
  }

  fs::Mount files;
  test::TestLog log;
  std::unique_ptr<Mount> state;
};

std::uint64_t node_of(FakeKernel& kernel, std::string_view name) {
  const auto reply = kernel.ask(FUSE_LOOKUP, kRoot, name);
  CAPTURE(name, reply.head.error);
  REQUIRE(reply.head.error == 0);
  return reply.as<fuse_entry_out>().nodeid;
}

std::uint64_t open_file(FakeKernel& kernel, std::uint64_t node, std::uint32_t flags = O_RDONLY) {
  fuse_open_in open{};
  open.flags = flags;
  const auto reply = kernel.ask(FUSE_OPEN, node, open);
  REQUIRE(reply.head.error == 0);
  return reply.as<fuse_open_out>().fh;
}

Reply read_at(FakeKernel& kernel, std::uint64_t node, std::uint64_t handle, std::uint64_t offset,
              std::uint32_t size) {
  fuse_read_in read{};
  read.fh = handle;
  read.offset = offset;
  read.size = size;
  return kernel.ask(FUSE_READ, node, read);
}

Reply release(FakeKernel& kernel, std::uint64_t node, std::uint64_t handle) {
  fuse_release_in release{};
  release.fh = handle;
  return kernel.ask(FUSE_RELEASE, node, release);
}

TEST_CASE("operations: a forgotten node is found by its number", "[fs][fuse][unit]") {
  Served served;
  std::filesystem::create_directory(served.files.path("folder"));
  served.files.write("folder/x.b2frame", test::small_frame(1000));
  FakeKernel kernel(served.mount());
  const auto entry_of = [](const Reply& reply) {
    REQUIRE(reply.head.error == 0);
    return reply.as<fuse_entry_out>();
  };
  const auto forget = [&](std::uint64_t node) {
    fuse_forget_in one{.nlookup = 1};
    CHECK(kernel.send(FUSE_FORGET, node, std::as_bytes(std::span(&one, 1))).empty());
  };
  const auto folder = entry_of(kernel.ask(FUSE_LOOKUP, kRoot, "folder"));
  const auto file = entry_of(kernel.ask(FUSE_LOOKUP, folder.nodeid, "x"));
  CHECK(file.generation != 0);
  forget(file.nodeid);
  forget(folder.nodeid);
  const auto again = entry_of(kernel.ask(FUSE_LOOKUP, file.nodeid, "."));
  CHECK(again.nodeid == file.nodeid);
  CHECK(again.generation == file.generation);
  CHECK(again.attr.ino == file.attr.ino);
  CHECK(again.attr.size == 1000);
  CHECK(read_at(kernel, again.nodeid, open_file(kernel, again.nodeid), 0, 4096).body.size() ==
        1000);
  CHECK(entry_of(kernel.ask(FUSE_LOOKUP, file.nodeid, "..")).nodeid == folder.nodeid);
  const auto root = entry_of(kernel.ask(FUSE_LOOKUP, folder.nodeid, ".."));
  CHECK(root.nodeid == kRoot);
  CHECK(root.generation == 0);
  for (const std::uint64_t unknown :
       {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    CHECK(kernel.ask(FUSE_LOOKUP, unknown, ".").head.error == -ESTALE);
    CHECK(kernel.ask(FUSE_LOOKUP, unknown, "..").head.error == -ESTALE);
  }
  // The file is not where it was, or is no frame any more.
  served.files.write("folder/x.b2frame", "text");
  CHECK(kernel.ask(FUSE_LOOKUP, file.nodeid, ".").head.error == -ESTALE);
  std::filesystem::remove(served.files.path("folder/x.b2frame"));
  CHECK(kernel.ask(FUSE_LOOKUP, file.nodeid, ".").head.error == -ESTALE);
  const auto other = Served{}.mount().generation;
  CHECK(other != file.generation);
}

TEST_CASE("operations: each request gets one answer with the errno of its error",
          "[fs][fuse][unit]") {
  Served served;
  const auto plain = test::noise(1000, 1);
  served.files.write("data.b2frame", test::small_frame(1000));
  served.files.write("plain", "text");
  auto cut = test::small_frame(1000);
  cut.resize(cut.size() / 2);
  served.files.write("cut.b2frame", cut);
  std::filesystem::create_directory(served.files.path("folder"));
  FakeKernel kernel(served.mount());
  const auto data = node_of(kernel, "data");
  const auto folder = node_of(kernel, "folder");
  const fuse_open_in to_write{.flags = O_WRONLY, .open_flags = 0};
  fuse_read_in no_file{};
  no_file.fh = kNoHandle;
  no_file.size = 10;
  fuse_release_in no_release{};
  no_release.fh = kNoHandle;
  fuse_lseek_in no_seek{};
  no_seek.fh = kNoHandle;
  no_seek.whence = SEEK_DATA;
  fuse_getxattr_in xattr{};
  xattr.size = 100;
  const fuse_mkdir_in mkdir{.mode = 0755, .umask = 0};
  const std::string long_name(300, 'x');

  CHECK(kernel.ask(FUSE_LOOKUP, kRoot, "missing").head.error == -ENOENT);
  CHECK(kernel.ask(FUSE_LOOKUP, kRoot, long_name).head.error == -ENAMETOOLONG);
  CHECK(kernel.ask(FUSE_LOOKUP, data, "below a file").head.error == -ENOTDIR);
  CHECK(kernel.ask(FUSE_READ, data, no_file).head.error == -EBADF);
  CHECK(kernel.ask(FUSE_LSEEK, data, no_seek).head.error == -EBADF);
  CHECK(kernel.ask(FUSE_RELEASE, data, no_release).head.error == -EBADF);
  CHECK(kernel.ask(FUSE_READDIR, folder, no_file).head.error == -EBADF);
  CHECK(kernel.ask(FUSE_RELEASEDIR, folder, no_release).head.error == 0);
  CHECK(kernel.ask(FUSE_GETXATTR, data, xattr, "user.none").head.error == -ENODATA);
  CHECK(kernel.ask(FUSE_UNLINK, kRoot, "missing").head.error == -ENOENT);
  CHECK(kernel.ask(FUSE_UNLINK, kRoot, "folder").head.error == -EISDIR);
  CHECK(kernel.ask(FUSE_RMDIR, kRoot, "data").head.error == -ENOTDIR);
  CHECK(kernel.ask(FUSE_MKDIR, kRoot, mkdir, "folder").head.error == -EEXIST);
  CHECK(kernel.ask(FUSE_STATFS, kRoot).head.error == 0);
  // A damaged frame has a name too.
  CHECK(kernel.ask(FUSE_OPEN, node_of(kernel, "cut"), to_write).head.error == -EIO);
  // An operation that does not exist.
  CHECK(kernel.ask(99, kRoot).head.error == -ENOSYS);

  const auto handle = open_file(kernel, data);
  const auto part = read_at(kernel, data, handle, 10, 20);
  CHECK(part.head.error == 0);
  CHECK(part.body == Bytes(plain.begin() + 10, plain.begin() + 30));
  CHECK(read_at(kernel, data, handle, 990, 100).body.size() == 10);
  CHECK(read_at(kernel, data, handle, 5000, 10).body.empty());
  CHECK(release(kernel, data, handle).head.error == 0);
  CHECK(read_at(kernel, data, handle, 0, 10).head.error == -EBADF);
}

TEST_CASE("operations: a read-only mount refuses changes", "[fs][fuse][unit]") {
  fs::MountOptions options;
  options.read_only = true;
  Served served(options);
  served.files.write("data.b2frame", test::small_frame(1000));
  FakeKernel kernel(served.mount());
  const auto data = node_of(kernel, "data");
  const fuse_open_in to_write{.flags = O_WRONLY, .open_flags = 0};
  const fuse_mkdir_in mkdir{.mode = 0755, .umask = 0};
  CHECK(kernel.ask(FUSE_OPEN, data, to_write).head.error == -EROFS);
  CHECK(kernel.ask(FUSE_MKDIR, kRoot, mkdir, "new").head.error == -EROFS);
  CHECK(kernel.ask(FUSE_UNLINK, kRoot, "data").head.error == -EROFS);
}

TEST_CASE("operations: forgetting gets no answer", "[fs][fuse][unit]") {
  Served served;
  served.files.write("data.b2frame", test::small_frame(1000));
  FakeKernel kernel(served.mount());
  const auto data = node_of(kernel, "data");
  const fuse_forget_in once{.nlookup = 1};
  CHECK(kernel.send(FUSE_FORGET, data, std::as_bytes(std::span(&once, 1))).empty());
  const fuse_getattr_in get{};
  CHECK(kernel.ask(FUSE_GETATTR, data, get).head.error == -ESTALE);
}

TEST_CASE("operations: an answer without a caller takes back its handle or reference",
          "[fs][fuse][unit]") {
  Served served;
  served.files.write("data.b2frame", test::small_frame(1000));
  auto& mount = served.mount();
  FakeKernel kernel(mount);
  const auto data = node_of(kernel, "data");
  const fuse_open_in open{.flags = O_RDONLY, .open_flags = 0};
  const fuse_getattr_in get{};

  kernel.lost_answers = 1;
  const auto lost = kernel.ask(FUSE_OPEN, data, open).as<fuse_open_out>().fh;
  CHECK(mount.files.find(lost) == nullptr);

  kernel.lost_answers = 1;
  const auto folder = kernel.ask(FUSE_OPENDIR, kRoot, open).as<fuse_open_out>().fh;
  CHECK(mount.directories.find(folder) == nullptr);

  // The reference of a look-up that was lost is not counted: one forget is enough.
  kernel.lost_answers = 1;
  CHECK(kernel.ask(FUSE_LOOKUP, kRoot, "data").as<fuse_entry_out>().nodeid == data);
  const fuse_forget_in once{.nlookup = 1};
  CHECK(kernel.send(FUSE_FORGET, data, std::as_bytes(std::span(&once, 1))).empty());
  CHECK(kernel.ask(FUSE_GETATTR, data, get).head.error == -ESTALE);

  fuse_create_in create{};
  create.flags = O_RDWR;
  create.mode = 0644;
  kernel.lost_answers = 1;
  const auto created = kernel.ask(FUSE_CREATE, kRoot, create, "new");
  REQUIRE(created.body.size() == sizeof(fuse_entry_out) + sizeof(fuse_open_out));
  fuse_open_out opened{};
  std::memcpy(&opened, created.body.data() + sizeof(fuse_entry_out), sizeof(opened));
  CHECK(mount.files.find(opened.fh) == nullptr);
  CHECK(kernel.ask(FUSE_GETATTR, created.as<fuse_entry_out>().nodeid, get).head.error == -ESTALE);
}

TEST_CASE("operations: an exception of a library is an errno", "[fs][fuse][unit]") {
  Served served;
  auto table = FakeKernel::all_operations();
  table.getattr = [](fuse_req_t req, fuse_ino_t, fuse_file_info*) {
    answer(req, "getattr", [](Mount&) -> Result<Answer> { throw std::bad_alloc(); });
  };
  table.statfs = [](fuse_req_t req, fuse_ino_t) {
    answer(req, "statfs", [](Mount&) -> Result<Answer> { throw std::runtime_error("odd"); });
  };
  FakeKernel kernel(served.mount(), table);
  const fuse_getattr_in get{};
  CHECK(kernel.ask(FUSE_GETATTR, kRoot, get).head.error == -ENOMEM);
  CHECK(kernel.ask(FUSE_STATFS, kRoot).head.error == -EIO);
  REQUIRE(served.log.lines().size() == 1);
  CHECK(served.log.lines()[0].find("BUG: statfs: odd") != std::string::npos);
}

}  // namespace
}  // namespace framefs::fuse::operations_test
