// framefs_null_server: a FUSE server without any work, to measure the cost of FUSE itself.
//
//   framefs_null_server MOUNTPOINT SIZE [PIECE [FILES]]
//
// Every name is a file of SIZE bytes, all answered from the same PIECE bytes of memory (128 KiB).
// Written bytes are dropped.  With FILES, the directory lists as many files, whose names are the
// numbers from 0, and nothing ever changes: the kernel opens them and the directory without a
// request.  Runs in the foreground until it is unmounted.  It makes the same requests to libfuse
// and to the kernel as fs/fuse/session/session.cc and fs/fuse/ops/kernel_readahead.cc.

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
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
  std::size_t files;  // 0: nothing is listed
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

void op_init(void* user_data, fuse_conn_info* connection) {
  unsigned wanted = FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_PARALLEL_DIROPS;
  if (static_cast<const Server*>(user_data)->files > 0) {
    wanted |= FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_NO_OPENDIR_SUPPORT;
  }
  connection->want |= wanted & connection->capable;
  connection->max_background = kMaxBackground;
  connection->congestion_threshold = kMaxBackground * 3 / 4;
}

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Of a listed file.
fuse_ino_t node_of(std::size_t file) { return FUSE_ROOT_ID + 1 + file; }

void op_lookup(fuse_req_t req, fuse_ino_t, const char* name) {
  auto& server = server_of(req);
  fuse_entry_param entry{};
  entry.ino = server.files > 0 ? node_of(number(name).value_or(0)) : server.next_file++;
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
  if (server_of(req).files > 0) {
    fuse_reply_err(req, ENOSYS);
    return;
  }
  info->keep_cache = 1;
  fuse_reply_open(req, info);
}

void op_readdir(fuse_req_t req, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info*) {
  const auto& server = server_of(req);
  std::vector<char> entries(size);
  std::size_t used = 0;
  for (auto file = static_cast<std::size_t>(offset); file < server.files; ++file) {
    const auto st = attributes_of(server, node_of(file));
    const auto length =
        fuse_add_direntry(req, entries.data() + used, size - used, std::to_string(file).c_str(),
                          &st, static_cast<off_t>(file) + 1);
    if (length > size - used) break;
    used += length;
  }
  fuse_reply_buf(req, entries.data(), used);
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
  if (server.files > 0) {
    table.opendir = op_open;
    table.readdir = op_readdir;
  }
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

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const auto word = [&](std::size_t at, std::size_t otherwise) {
    return words.size() > at ? number(words[at]).value_or(0) : otherwise;
  };
  const auto size = word(2, 0);
  const auto piece = word(3, std::size_t{128} << 10);
  const auto files = word(4, 0);
  if (size == 0 || piece == 0 || (words.size() > 4 && files == 0) || words.size() > 5) {
    std::cerr << "usage: framefs_null_server MOUNTPOINT SIZE [PIECE [FILES]]\n";
    return 2;
  }
  Server server{.size = size, .piece = std::vector<char>(piece, 'x'), .files = files};
  return serve(server, words[1]);
}
