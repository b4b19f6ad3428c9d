#include "fs/fuse/watchdog.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/core.h>

namespace framefs::fuse {

// The first byte of each message of the daemon.
enum class Watchdog::Word : char {
  mountpoint = 'P',
  mount_number = 'M',
  readahead = 'R',
  unmount = 'U',
  unmount_if_unused = 'I',
  log_path = 'L',
  open_log = 'O',
};

namespace {

using Word = Watchdog::Word;

// The name does not contain the program's name, because people search for that.
constexpr const char* kName = "fuse-watchdog";

// The watchdog tries to unmount, or waits for the kernel to close the daemon's files, for at most
// this time.
constexpr unsigned kPatienceSeconds = 10;

// The first byte of the answer to a question.
constexpr char kDone = 1;
constexpr char kNotDone = 0;
// The text of Word::unmount if the kernel still sends requests.
constexpr const char* kConnected = "connected";

// The space for one descriptor beside the text of a message.
struct DescriptorSpace {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};
msghdr message_of(iovec& text, DescriptorSpace& space) {
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = space.bytes.data();
  message.msg_controllen = space.bytes.size();
  return message;
}

// ------------------------------------------------------------------------- the daemon's side

// Receives the answer to Word::open_log.
Result<fs::UniqueFd> receive_log(int socket) {
  char answer = 0;
  iovec text{.iov_base = &answer, .iov_len = 1};
  DescriptorSpace space;
  msghdr message = message_of(text, space);
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const auto* const header = CMSG_FIRSTHDR(&message);
  if (got != 1 || answer != kDone || header == nullptr || header->cmsg_type != SCM_RIGHTS) {
    return fs::system_error_of(EIO, "the watchdog cannot open it");
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return fs::UniqueFd(fd);
}

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

// The watchdog runs in a session of its own, where no terminal sends it signals, and with no
// blocked signals.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
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

// The kernel's number for the mount that contains `fd`, as in /proc/self/mountinfo. The call sends
// no request to the filesystem, because its daemon may be dead or may be this process.
// Source: name_to_handle_at(2), which sets the number even if the handle does not fit.
std::optional<int> mount_number(int fd) {
  file_handle no_room{};
  int number = 0;
  if (::name_to_handle_at(fd, "", &no_room, &number, AT_EMPTY_PATH) != 0 && errno != EOVERFLOW) {
    return std::nullopt;
  }
  return number;
}

fs::UniqueFd open_path(const char* path) { return fs::UniqueFd(::open(path, O_PATH | O_CLOEXEC)); }

// ----------------------------------------------------------------------- the watchdog's side

// The messages of the daemon so far.
struct Message {
  std::string mountpoint;
  std::string log_path;
  std::optional<int> mount;
};

void answer_daemon(int socket, bool done) {
  const char answer = done ? kDone : kNotDone;
  // If the daemon is gone, the next recv() reports it.
  [[maybe_unused]] const auto told = ::send(socket, &answer, 1, MSG_NOSIGNAL);
}

// Raises the kernel's read-ahead. `text` is the device number and the value to write.
bool set_readahead(std::string_view text) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned kib = 0;
  const std::string line(text);
  if (std::sscanf(line.c_str(), "%u:%u %u", &major, &minor, &kib) != 3) return false;
  std::ofstream file(fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major, minor));
  file << kib << std::flush;
  return file.good();
}

enum class State : unsigned char { dead, dying, something_else };

// The state of the mount at the mountpoint.
State state_of(int top, const Message& message) {
  if (top < 0) return State::something_else;
  const auto mount = mount_number(top);
  if (message.mount && mount && *mount != *message.mount) return State::something_else;
  // The kernel reuses mount numbers, so the mount must also be dead. AT_STATX_FORCE_SYNC makes the
  // kernel ask the daemon even if it has cached attributes. The call waits until no thread of the
  // daemon is left to answer.
  struct statx unused{};
  if (::statx(top, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &unused) == 0) {
    return State::something_else;
  }
  if (errno == ENOTCONN) return State::dead;
  return errno == ECONNABORTED ? State::dying : State::something_else;
}

bool run_fusermount(const std::string& mountpoint, bool lazy) {
  std::vector<std::string> words = {"fusermount3", "-u", "--", mountpoint};
  if (lazy) words.insert(words.begin() + 1, "-z");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawnp(&child, words[0].c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
    return false;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Unmounts through the descriptor: it denotes this mount even if the path now leads elsewhere. Only
// root may call umount2(). For other users there is fusermount3, which checks that the mount is
// theirs.
bool unmount(int top, const std::string& mountpoint) {
  const auto path = fmt::format("/proc/self/fd/{}", top);
  return ::umount2(path.c_str(), MNT_DETACH) == 0 || run_fusermount(mountpoint, true);
}

void clear(const Message& message) {
  for (auto pause = std::chrono::milliseconds(1);; pause *= 2) {
    const auto top = open_path(message.mountpoint.c_str());
    const auto state = state_of(top.get(), message);
    if (state == State::something_else) return;
    if (state == State::dead) unmount(top.get(), message.mountpoint);
    std::this_thread::sleep_for(pause);
  }
}

// Unmounts on request of the daemon, which has given up the right.
bool unmount_for_daemon(const Message& message, bool is_connected) {
  const auto top = open_path(message.mountpoint.c_str());
  if (!top || !message.mount || mount_number(top.get()) != message.mount) return false;
  if (!is_connected && state_of(top.get(), message) == State::something_else) return false;
  return unmount(top.get(), message.mountpoint);
}

// Unmounts by name in the directory around the mount: a descriptor of the mount would keep it busy,
// and a path may lead elsewhere by then.
bool unmount_if_unused(const Message& message) {
  auto top = open_path(message.mountpoint.c_str());
  if (!top || !message.mount || mount_number(top.get()) != message.mount) return false;
  std::error_code error;
  const auto path = std::filesystem::read_symlink(fs::path_of_fd(top.get()), error);
  if (error) return false;
  const auto directory = open_path(path.parent_path().c_str());
  if (!directory) return false;
  top = fs::UniqueFd();
  const auto place = fs::path_of_fd(directory.get()) + "/" + path.filename().string();
  if (::umount2(place.c_str(), UMOUNT_NOFOLLOW) == 0) return true;
  return errno == EPERM && run_fusermount(path.string(), false);
}

// Sends a descriptor of the log file, or an answer without a descriptor.
void send_log(int socket, const std::string& path) {
  const auto log = open_log_file(path);
  if (!log) return answer_daemon(socket, false);
  char answer = kDone;
  iovec text{.iov_base = &answer, .iov_len = 1};
  DescriptorSpace space;
  msghdr message = message_of(text, space);
  auto* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = log->get();
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  [[maybe_unused]] const auto told = ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

void note_number(Message& message, std::string_view text) {
  int number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()) {
    message.mount = number;
  }
}

// Serves the messages of the socket until the daemon closes it.  Returns the messages of the
// daemon.
Message serve_daemon(int socket) {
  Message message;
  std::array<char, 2 * PATH_MAX> packet{};
  while (true) {
    const auto got = ::recv(socket, packet.data(), packet.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return message;
    const std::string_view text(packet.data() + 1, static_cast<std::size_t>(got) - 1);
    switch (static_cast<Word>(packet[0])) {
      case Word::mountpoint:
        message.mountpoint = text;
        continue;
      case Word::mount_number:
        note_number(message, text);
        continue;
      case Word::readahead:
        answer_daemon(socket, set_readahead(text));
        continue;
      case Word::log_path:
        // The first path counts: a daemon that was taken over cannot have other files opened.
        if (message.log_path.empty()) message.log_path = text;
        continue;
      case Word::open_log:
        send_log(socket, message.log_path);
        continue;
      case Word::unmount:
        answer_daemon(socket, unmount_for_daemon(message, text == kConnected));
        continue;
      case Word::unmount_if_unused:
        answer_daemon(socket, unmount_if_unused(message));
        continue;
    }
  }
}

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

bool Watchdog::say(Word word, std::string_view text) const {
  std::string packet(1, static_cast<char>(word));
  packet += text;
  return channel_->with([&](const fs::UniqueFd& life) {
    return ::send(life.get(), packet.data(), packet.size(), MSG_NOSIGNAL) >= 0;
  });
}

bool Watchdog::ask(Word word, std::string_view text) const {
  std::string packet(1, static_cast<char>(word));
  packet += text;
  // One question at a time: the lock is held until the answer arrives.
  return channel_->with([&](const fs::UniqueFd& life) {
    if (::send(life.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) return false;
    char done = 0;
    ssize_t got = 0;
    do {
      got = ::recv(life.get(), &done, 1, 0);
    } while (got < 0 && errno == EINTR);
    return got == 1 && done == kDone;
  });
}

void Watchdog::mounted(const std::filesystem::path& mountpoint) const {
  const auto top = open_path(mountpoint.c_str());
  const auto number = mount_number(top.get());
  // If the watchdog is gone, the message is lost; that is harmless.
  if (number) say(Word::mount_number, std::to_string(*number));
}

bool Watchdog::set_readahead(dev_t device, unsigned kib) const {
  return ask(Word::readahead, fmt::format("{}:{} {}", major(device), minor(device), kib));
}

void Watchdog::keep_log_path(const std::filesystem::path& path) const {
  // If the watchdog is gone, open_log() will fail.
  say(Word::log_path, path.native());
}

Result<fs::UniqueFd> Watchdog::open_log() const {
  const char word = static_cast<char>(Word::open_log);
  return channel_->with([&](const fs::UniqueFd& life) -> Result<fs::UniqueFd> {
    if (::send(life.get(), &word, 1, MSG_NOSIGNAL) < 0) return fs::system_error("send");
    return receive_log(life.get());
  });
}

bool Watchdog::unmount(bool is_connected) const {
  return ask(Word::unmount, is_connected ? kConnected : "");
}

bool Watchdog::unmount_if_unused() const { return ask(Word::unmount_if_unused, ""); }

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

int run_watchdog() {
  ::prctl(PR_SET_NAME, kName);
  // Ignores the signals that end the daemon in order, because a sender may signal both processes.
  // The daemon ends the watchdog afterwards.
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    static_cast<void>(::signal(signal, SIG_IGN));
  }
  if (::chdir("/") != 0) return 1;  // keep no directory busy that a user might unmount
  const auto message = serve_daemon(STDIN_FILENO);
  ::alarm(kPatienceSeconds);  // ends the process, even while it waits for a filesystem
  if (!message.mountpoint.empty()) clear(message);
  return 0;
}

}  // namespace framefs::fuse
