#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fuse_lowlevel.h>

#include "fs/fuse/ops/answer.h"
#include "fs/fuse/ops/operations.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"

namespace framefs::test {

// One answer of the daemon, as it leaves the process.
struct Reply {
  fuse_out_header head{};
  Bytes body;

  // The first bytes of the body, as a structure of the protocol.
  template <class T>
  [[nodiscard]] T as() const {
    T value{};
    REQUIRE(body.size() >= sizeof(T));
    std::memcpy(&value, body.data(), sizeof(T));
    return value;
  }
};

// The kernel's end of a FUSE connection without a mount: it passes requests to the operations of a
// daemon and collects every answer.
// Threads: one; one object at a time.
// Source: linux/fuse.h.
class FakeKernel {
 public:
  static fuse_lowlevel_ops all_operations() {
    fuse_lowlevel_ops table{};
    fuse::add_node_operations(table);
    fuse::add_file_operations(table);
    fuse::add_write_operations(table);
    fuse::add_directory_operations(table);
    fuse::add_xattr_operations(table);
    fuse::add_name_operations(table);
    return table;
  }

  explicit FakeKernel(fuse::Mount& mount, const fuse_lowlevel_ops& table = all_operations()) {
    current() = this;
    REQUIRE(fuse_opt_add_arg(&arguments_, "framefs") == 0);
    session_ = fuse_session_new(&arguments_, &table, sizeof(table), &mount);
    REQUIRE(session_ != nullptr);
    mount.session = session_;
    // Its members depend on the version of libfuse.
    static constexpr fuse_custom_io kIo = [] {
      fuse_custom_io io{};
      io.writev = take_reply;
      io.read = no_request;
      return io;
    }();
    REQUIRE(fuse_session_custom_io(session_, &kIo, ::open("/dev/null", O_RDWR | O_CLOEXEC)) == 0);
    fuse_init_in hello{};
    hello.major = FUSE_KERNEL_VERSION;
    hello.minor = FUSE_KERNEL_MINOR_VERSION;
    hello.max_readahead = 1u << 20;
    REQUIRE(ask(FUSE_INIT, 0, hello).head.error == 0);
  }
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;
  ~FakeKernel() {
    fuse_session_destroy(session_);
    fuse_opt_free_args(&arguments_);
    current() = nullptr;
  }

  // Sends a request and returns its answers.
  std::vector<Reply> send(std::uint32_t opcode, std::uint64_t node,
                          std::span<const std::byte> body) {
    fuse_in_header head{};
    head.len = static_cast<std::uint32_t>(sizeof(head) + body.size());
    head.opcode = opcode;
    head.unique = ++unique_;
    head.nodeid = node;
    head.uid = ::getuid();
    head.gid = ::getgid();
    head.pid = static_cast<std::uint32_t>(::getpid());
    Bytes message;
    append(message, std::as_bytes(std::span(&head, 1)));
    append(message, body);
    fuse_buf buffer{};
    buffer.size = message.size();
    buffer.mem = message.data();
    replies_.clear();
    fuse_session_process_buf(session_, &buffer);
    for (const auto& reply : replies_) REQUIRE(reply.head.unique == unique_);
    return std::exchange(replies_, {});
  }
  // Sends a request that must get one answer.
  Reply ask(std::uint32_t opcode, std::uint64_t node, std::span<const std::byte> body = {}) {
    auto replies = send(opcode, node, body);
    CAPTURE(opcode);
    REQUIRE(replies.size() == 1);
    return std::move(replies.front());
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  Reply ask(std::uint32_t opcode, std::uint64_t node, const T& argument,
            std::string_view name = {}) {
    Bytes body;
    append(body, std::as_bytes(std::span(&argument, 1)));
    append(body, text(name));
    return ask(opcode, node, body);
  }
  Reply ask(std::uint32_t opcode, std::uint64_t node, std::string_view name) {
    return ask(opcode, node, std::span<const std::byte>(text(name)));
  }
  static Bytes text(std::string_view name) {
    Bytes bytes;
    if (name.empty()) return bytes;
    append(bytes, name);
    bytes.push_back(std::byte{0});
    return bytes;
  }

  // The number of next answers whose requests no longer exist, because their callers were
  // interrupted.
  unsigned lost_answers = 0;

 private:
  static FakeKernel*& current() {
    static FakeKernel* kernel = nullptr;
    return kernel;
  }
  static ssize_t take_reply(int, iovec* pieces, int count, void*) {
    auto& kernel = *current();
    Bytes message;
    for (const auto& piece : std::span(pieces, static_cast<std::size_t>(count))) {
      append(message, {static_cast<const std::byte*>(piece.iov_base), piece.iov_len});
    }
    Reply reply;
    std::memcpy(&reply.head, message.data(), sizeof(reply.head));
    reply.body.assign(message.begin() + sizeof(reply.head), message.end());
    const auto size = static_cast<ssize_t>(message.size());
    kernel.replies_.push_back(std::move(reply));
    if (kernel.lost_answers == 0) return size;
    --kernel.lost_answers;
    errno = ENOENT;
    return -1;
  }
  static ssize_t no_request(int, void*, std::size_t, void*) {
    errno = ENODEV;
    return -1;
  }

  fuse_args arguments_ = FUSE_ARGS_INIT(0, nullptr);
  fuse_session* session_ = nullptr;
  std::uint64_t unique_ = 0;
  std::vector<Reply> replies_;
};

}  // namespace framefs::test
