// framefs_null_server: a FUSE server without any work, to measure the cost of FUSE itself.
//
//   framefs_null_server MOUNTPOINT SIZE [PIECE]
//
// Every name is a file of SIZE bytes, all answered from the same PIECE bytes of memory (128 KiB).
// Written bytes are dropped.  Runs in the foreground until it is unmounted.  It makes the same
// requests to libfuse and to the kernel as fs/fuse/session/session.cc and
// fs/fuse/ops/kernel_readahead.cc.

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <fuse_lowlevel.h>

namespace {

constexpr unsigned kMaxBackground = 64;
constexpr int kReadAheadKib = 512;
constexpr double kForeverSeconds = 1e6;

struct Server {
  std::size_t size;
  std::vector<char> piece;
  std::atomic<fuse_ino_t> next_file{FUSE_ROOT_ID + 1};
};

Server& server_of(fuse_req_t req) { return *static_cast<Server*>(fuse_req_userdata(req)); }

struct stat attributes_of(const Server& server, fuse_ino_t node) {
  struct stat st{};
  st.st_ino = node;
  st.st_nlink = 1;
  st.st_mode = node == FUSE_ROOT_ID ? S_IFDIR | 0555 : S_IFREG | 0644;
  if (node != FUSE_ROOT_ID) st.st_size = static_cast<off_t>(server.size);
  return st;
}

void op_init(void*, fuse_conn_info* connection) {
  const unsigned wanted = FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_PARALLEL_DIROPS;
  connection->want |= wanted & connection->capable;
  connection->max_background = kMaxBackground;
  connection->congestion_threshold = kMaxBackground * 3 / 4;
}

void op_lookup(fuse_req_t req, fuse_ino_t, const char*) {
  auto& server = server_of(req);
  fuse_entry_param entry{};
  entry.ino = server.next_file++;
  entry.attr = attributes_of(server, entry.ino);
  entry.attr_timeout = kForeverSeconds;
  entry.entry_timeout = kForeverSeconds;
  fuse_reply_entry(req, &entry);
}

void op_getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
  const auto st = attributes_of(server_of(req), node);
  fuse_reply_attr(req, &st, kForeverSeconds);
}

void op_open(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  info->keep_cache = 1;
  fuse_reply_open(req, info);
}

void op_read(fuse_req_t req, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  auto& server = server_of(req);
  auto& piece = server.piece;
  const auto from = std::min(static_cast<std::size_t>(offset), server.size);
  std::size_t left = std::min(size, server.size - from);
  std::vector<iovec> pieces;
  while (left > 0) {
    const auto take = std::min(left, piece.size());
    pieces.push_back({.iov_base = piece.data(), .iov_len = take});
    left -= take;
  }
  fuse_reply_iov(req, pieces.data(), static_cast<int>(pieces.size()));
}

void op_write(fuse_req_t req, fuse_ino_t, const char*, std::size_t size, off_t, fuse_file_info*) {
  fuse_reply_write(req, size);
}

void raise_kernel_readahead(const std::string& mountpoint) {
  struct stat st{};
  if (::stat(mountpoint.c_str(), &st) != 0) return;
  std::ofstream(
      fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(st.st_dev), minor(st.st_dev)))
      << kReadAheadKib << std::flush;
}

int serve(Server& server, const std::string& mountpoint) {
  fuse_lowlevel_ops table{};
  table.init = op_init;
  table.lookup = op_lookup;
  table.getattr = op_getattr;
  table.open = op_open;
  table.read = op_read;
  table.write = op_write;
  std::array<std::string, 3> words = {"null", "-o", "fsname=null"};
  std::array<char*, 3> pointers = {words[0].data(), words[1].data(), words[2].data()};
  fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());
  auto* const session = fuse_session_new(&arguments, &table, sizeof(table), &server);
  if (session == nullptr || fuse_set_signal_handlers(session) != 0 ||
      fuse_session_mount(session, mountpoint.c_str()) != 0) {
    return 1;
  }
  auto* const config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  std::jthread announcer([&] { raise_kernel_readahead(mountpoint); });
  fuse_session_loop_mt(session, config);
  fuse_session_unmount(session);
  announcer.join();
  fuse_loop_cfg_destroy(config);
  fuse_session_destroy(session);
  fuse_opt_free_args(&arguments);
  return 0;
}

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const auto size = words.size() > 2 ? number(words[2]) : std::nullopt;
  const auto piece = words.size() > 3 ? number(words[3]) : std::size_t{128} << 10;
  if (!size || !piece || words.size() > 4) {
    std::cerr << "usage: framefs_null_server MOUNTPOINT SIZE [PIECE]\n";
    return 2;
  }
  Server server{.size = *size, .piece = std::vector<char>(*piece, 'x')};
  return serve(server, words[1]);
}
