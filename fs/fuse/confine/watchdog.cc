#include "fs/fuse/confine/watchdog.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "codec/core/parse_number.h"
#include "fs/core/files/mount_table.h"
#include "fs/fuse/ops/handle_opener.h"

namespace framefs::fuse {
namespace {

using Word = WatchdogWord;

// The name does not contain the program's name, because people search for that.
constexpr const char* kName = "fuse-watchdog";

// The standard streams of the watchdog: it reads from the socket, prints nothing, and has no other
// open files.
class Streams {
 public:
  explicit Streams(int socket) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, socket, STDIN_FILENO);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", O_WRONLY, 0);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() { posix_spawn_file_actions_destroy(&actions_); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// The watchdog runs in a session of its own, where no terminal sends it signals.  It starts with
// all signals blocked, because a signal may arrive before it has decided which ones it ignores.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigemptyset(&signals);
    sigaddset(&signals, SIGALRM);
    sigaddset(&signals, SIGCHLD);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

// The errno of an answer without a descriptor.
int errno_in(std::string_view text) { return codec::parse_number<int>(text).value_or(EIO); }

}  // namespace

Result<Watchdog> Watchdog::start(const std::filesystem::path& mountpoint) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fs::system_error("socketpair");
  }
  const fs::UniqueFd listening(ends[0]);
  fs::UniqueFd life(ends[1]);

  std::array<std::string, 2> words = {kName, std::to_string(::getpid())};
  std::array<char*, words.size() + 1> arguments = {words[0].data(), words[1].data(), nullptr};
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, "/proc/self/exe", Streams(listening.get()).get(),
                                   Attributes().get(), arguments.data(), environ);
  if (failed != 0) return fs::system_error_of(failed, "posix_spawn");
  Watchdog watchdog(pid, std::move(life));
  if (!watchdog.say(Word::mountpoint, mountpoint.native())) return fs::system_error("send");
  return watchdog;
}

bool Watchdog::say(Word word, std::string_view text, int fd) const {
  return channel_->with([&](const fs::UniqueFd& life) {
    return send_message(life.get(), static_cast<char>(word), text, fd);
  });
}

std::optional<WatchdogMessage> Watchdog::ask(Word word, std::string_view text, int fd) const {
  // One question at a time: the lock is held until the answer arrives.
  return channel_->with([&](const fs::UniqueFd& life) -> std::optional<WatchdogMessage> {
    if (!send_message(life.get(), static_cast<char>(word), text, fd)) return std::nullopt;
    return receive_message(life.get());
  });
}

bool Watchdog::is_done(Word word, std::string_view text, int fd) const {
  const auto answer = ask(word, text, fd);
  return answer && answer->first == kDone;
}

Result<WatchdogMessage> Watchdog::ask_for_message(Word word, std::string_view text, int fd) const {
  auto answer = ask(word, text, fd);
  if (!answer) return fs::system_error_of(EPIPE, "the watchdog is gone");
  if (answer->first != kDone || !answer->fd) {
    return fs::system_error_of(errno_in(answer->text), "the watchdog cannot do it");
  }
  return std::move(*answer);
}

Result<fs::UniqueFd> Watchdog::ask_for_file(Word word, std::string_view text, int fd) const {
  FRAMEFS_TRY(auto answer, ask_for_message(word, text, fd));
  return std::move(answer.fd);
}

void Watchdog::mounted(const std::filesystem::path& mountpoint) const {
  const auto top = open_path(mountpoint.c_str());
  const auto number = mount_number(top.get());
  if (number) tell(Word::mount_number, std::to_string(*number));
}

void Watchdog::keep_log_path(const std::filesystem::path& path) const {
  tell(Word::keep_log, path.native());
}

void Watchdog::keep_mount(const std::string& words) const { tell(Word::keep_mount, words); }

void Watchdog::keep_file(const std::string& path) const { tell(Word::keep_file, path); }

void Watchdog::keep_program(const std::string& command) const { tell(Word::keep_program, command); }

void Watchdog::confine() const { tell(Word::confined, ""); }

Result<fs::UniqueFd> Watchdog::open_readahead() const { return ask_for_file(Word::open_readahead); }

Result<fs::UniqueFd> Watchdog::open_log() const { return ask_for_file(Word::open_log); }

Result<Watchdog::MadeMount> Watchdog::mount() const {
  FRAMEFS_TRY(auto made, ask_for_message(Word::mount, "", STDERR_FILENO));
  return MadeMount{.connection = std::move(made.fd), .device = fs::parse_device(made.text)};
}

void Watchdog::hold(const fs::UniqueFd& file) const {
  static_cast<void>(say(Word::hold, "", file.get()));
}

Result<fs::UniqueFd> Watchdog::open_file(const std::string& path) const {
  return ask_for_file(Word::open_file, path);
}

Result<fs::UniqueFd> Watchdog::start_program() const {
  return ask_for_file(Word::start_program, "", STDERR_FILENO);
}

net::RunningProgram::State Watchdog::program_state() const {
  const auto answer = ask(Word::program_state);
  if (!answer) return net::RunningProgram::State::failed;
  return static_cast<net::RunningProgram::State>(answer->first);
}

Status Watchdog::keep_source(int source, bool read_only) const {
  if (is_done(Word::keep_source, read_only ? kReadOnly : "", source)) return {};
  return fs::system_error_of(EPERM, "the watchdog cannot open SOURCE's files by their handles");
}

Result<fs::UniqueFd> Watchdog::open_by_handle(std::uint64_t inode,
                                              std::optional<std::uint32_t> generation,
                                              int flags) const {
  return ask_for_file(Word::open_by_handle, HandleOpener::open_message(inode, generation, flags));
}

void Watchdog::end_program() const { static_cast<void>(ask(Word::end_program)); }

bool Watchdog::unmount(bool is_connected) const {
  return is_done(Word::unmount, is_connected ? kConnected : "");
}

bool Watchdog::unmount_if_unused() const { return is_done(Word::unmount_if_unused); }

Watchdog::~Watchdog() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

Result<fs::UniqueFd> open_log_file(const std::filesystem::path& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
  fs::UniqueFd log(::open(path.c_str(), kFlags, 0644));
  if (!log) return fs::system_error("open");
  return log;
}

bool is_watchdog(std::string_view name) noexcept { return name == kName; }

void name_watchdog() { ::prctl(PR_SET_NAME, kName); }

}  // namespace framefs::fuse
