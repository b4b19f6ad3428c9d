#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "codec/core/parse_number.h"
#include "fs/core/diagnostics/error_map.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/fusermount.h"
#include "fs/core/files/mount_table.h"
#include "fs/fuse/confine/watchdog.h"
#include "fs/fuse/confine/watchdog_messages.h"
#include "fs/fuse/ops/handle_opener.h"
#include "fs/fuse/session/new_session.h"
#include "fs/net/credentials/child_program.h"

namespace framefs::fuse {
namespace {

using Word = WatchdogWord;

// The watchdog tries to unmount, or waits for the kernel to close the daemon's files, for at most
// this time.
constexpr unsigned kPatienceSeconds = 10;

// The announcements of the daemon so far.
struct Kept {
  std::string mountpoint;
  std::optional<int> mount;  // its number
  std::string log_path;
  std::string mount_words;
  std::vector<std::string> files;
  std::string program;
  // A confined daemon cannot change the members above: if it was taken over, it cannot have other
  // files opened, other programs run, or anything else mounted.
  bool is_confined = false;
};

// The daemon's mount in the kernel's table.
std::optional<fs::MountTableEntry> own_entry(const Kept& kept) {
  const auto mounts = fs::mount_table();
  const auto own = std::ranges::find_if(
      mounts, [&](const fs::MountTableEntry& mount) { return mount.number == kept.mount; });
  if (own == mounts.end()) return std::nullopt;
  return *own;
}

// Opens the file that sets the kernel's read-ahead of the mount.
Result<fs::UniqueFd> open_readahead(const Kept& kept) {
  const auto own = own_entry(kept);
  if (!own) return fs::system_error_of(ENOENT, "read-ahead");
  const auto path =
      fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(own->device), minor(own->device));
  fs::UniqueFd control(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!control) return fs::system_error("read-ahead");
  return control;
}

enum class State : unsigned char { dead, dying, something_else };

// The state of the mount at the mountpoint.
State state_of(int top, const Kept& kept) {
  if (top < 0) return State::something_else;
  const auto mount = mount_number(top);
  if (kept.mount && mount && *mount != *kept.mount) return State::something_else;
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

// Unmounts through the descriptor: it denotes this mount even if the path now leads elsewhere. Only
// root may call umount2(). For other users there is fusermount3, which checks that the mount is
// theirs.
bool unmount(int top, const std::string& mountpoint) {
  const auto path = fmt::format("/proc/self/fd/{}", top);
  return ::umount2(path.c_str(), MNT_DETACH) == 0 ||
         fs::run_fusermount(mountpoint, true).value_or(false);
}

// Returns whether the daemon has left a mount behind, which is removed now.
bool clear(const Kept& kept) {
  bool is_removed = false;
  for (auto pause = std::chrono::milliseconds(1);; pause *= 2) {
    const auto top = open_path(kept.mountpoint.c_str());
    const auto state = state_of(top.get(), kept);
    if (state == State::something_else) return is_removed;
    if (state == State::dead) is_removed = unmount(top.get(), kept.mountpoint) || is_removed;
    std::this_thread::sleep_for(pause);
  }
}

// A daemon that was killed could not report its end.
void report_vanished(const Kept& kept) {
  const auto text = fmt::format("the daemon of {} is gone; its watchdog has unmounted",
                                fs::printable(kept.mountpoint));
  if (kept.log_path.empty()) {
    ::openlog("framefs", LOG_PID, LOG_DAEMON);
    ::syslog(LOG_CRIT, "%s", text.c_str());
    return;
  }
  const auto log = open_log_file(kept.log_path);
  if (!log) return;
  const auto now = std::time(nullptr);
  tm local{};
  ::localtime_r(&now, &local);
  std::array<char, sizeof("2000-01-01T00:00:00")> when{};
  std::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%S", &local);
  const auto line = fmt::format("{}.000 critical: {}\n", when.data(), text);
  [[maybe_unused]] const auto written = ::write(log->get(), line.data(), line.size());
}

// Unmounts on request of the daemon, which has given up the right.
bool unmount_for_daemon(const Kept& kept, bool is_connected) {
  const auto top = open_path(kept.mountpoint.c_str());
  if (!top || !kept.mount || mount_number(top.get()) != kept.mount) return false;
  if (!is_connected && state_of(top.get(), kept) == State::something_else) return false;
  return unmount(top.get(), kept.mountpoint);
}

// Unmounts by name in the directory around the mount: a descriptor of the mount would keep it busy,
// and a path may lead elsewhere by then.
bool unmount_if_unused(const Kept& kept) {
  auto top = open_path(kept.mountpoint.c_str());
  if (!top || !kept.mount || mount_number(top.get()) != kept.mount) return false;
  std::error_code error;
  const auto path = std::filesystem::read_symlink(fs::path_of_fd(top.get()), error);
  if (error) return false;
  const auto directory = open_path(path.parent_path().c_str());
  if (!directory) return false;
  top = fs::UniqueFd();
  const auto place = fs::path_of_fd(directory.get()) + "/" + path.filename().string();
  if (::umount2(place.c_str(), UMOUNT_NOFOLLOW) == 0) return true;
  return errno == EPERM && fs::run_fusermount(path.string(), false).value_or(false);
}

// Makes the mount, as the daemon would.  Returns the descriptor of the connection; an empty one if
// the kernel refuses the mount.  libfuse and fusermount3 tell the reason on `errors`.
fs::UniqueFd make_mount(const Kept& kept, const fs::UniqueFd& errors) {
  const fuse_lowlevel_ops none{};
  const auto session = new_session(kept.mount_words, false, none, nullptr);
  if (!session) return {};
  if (errors) ::dup2(errors.get(), STDERR_FILENO);
  const bool is_mounted = fuse_session_mount(session->get(), kept.mountpoint.c_str()) == 0;
  ::dup2(STDOUT_FILENO, STDERR_FILENO);  // /dev/null
  if (!is_mounted) return {};
  // The mount stays when the session is destroyed.
  return fs::UniqueFd(::fcntl(fuse_session_fd(session->get()), F_DUPFD_CLOEXEC, 0));
}

// Serves the messages of the daemon.
class Service {
 public:
  explicit Service(int socket) : socket_(socket) {}

  // Returns the announcements once the daemon has closed the socket.
  const Kept& run() {
    while (auto message = receive_message(socket_)) {
      std::erase_if(killed_, [](const auto& program) {
        return program->state() != net::RunningProgram::State::running;
      });
      serve(*message);
    }
    end_program();
    return kept_;
  }

 private:
  // If the daemon is gone, the next receive_message() reports it.
  void answer(bool done) const { send_message(socket_, done ? kDone : kNotDone, ""); }
  void answer(const Result<fs::UniqueFd>& file) const {
    if (file) return answer(*file);
    send_message(socket_, kNotDone, std::to_string(fs::errno_of(file.error())));
  }
  void answer(const fs::UniqueFd& fd) const {
    send_message(socket_, fd ? kDone : kNotDone, "", fd.get());
  }

  void serve(WatchdogMessage& message) {
    const auto& text = message.text;
    switch (static_cast<Word>(message.first)) {
      case Word::mountpoint:
        return keep(kept_.mountpoint, text);
      case Word::mount_number:
        return keep_number(text);
      case Word::keep_log:
        return keep(kept_.log_path, text);
      case Word::keep_mount:
        return keep(kept_.mount_words, text);
      case Word::keep_file:
        if (!kept_.is_confined) kept_.files.push_back(text);
        return;
      case Word::keep_program:
        ::prctl(PR_SET_DUMPABLE, 0);  // the command may contain a secret
        return keep(kept_.program, text);
      case Word::confined:
        kept_.is_confined = true;
        return;
      case Word::open_readahead:
        return answer(open_readahead(kept_));
      case Word::open_log:
        return open_log();
      case Word::unmount:
        return answer(unmount_for_daemon(kept_, text == kConnected));
      case Word::unmount_if_unused:
        return answer(unmount_if_unused(kept_));
      case Word::mount:
        return mount(message.fd);
      case Word::open_file:
        return open_file(text);
      case Word::start_program:
        return start_program(message.fd);
      case Word::keep_source:
        return answer(keep_source(std::move(message.fd), text == kReadOnly));
      case Word::hold:
        if (!kept_.is_confined && message.fd) held_.push_back(std::move(message.fd));
        return;
      case Word::open_by_handle:
        return open_by_handle(text);
      case Word::program_state:
        return tell_state();
      case Word::end_program:
        end_program();
        return answer(true);
    }
  }

  void keep(std::string& place, const std::string& text) const {
    if (!kept_.is_confined) place = text;
  }

  void keep_number(const std::string& text) {
    const auto number = codec::parse_number<int>(text);
    if (!kept_.is_confined && number) kept_.mount = number;
  }

  void open_log() const { answer(open_log_file(kept_.log_path)); }

  void mount(const fs::UniqueFd& errors) {
    if (kept_.mount || kept_.mount_words.empty()) return answer(false);
    const auto connection = make_mount(kept_, errors);
    if (!connection) return answer(false);
    kept_.mount = mount_number(open_path(kept_.mountpoint.c_str()).get());
    const auto own = own_entry(kept_);
    const auto device =
        own ? fmt::format("{}:{}", major(own->device), minor(own->device)) : std::string();
    send_message(socket_, kDone, device, connection.get());
  }

  void open_file(const std::string& path) const {
    if (std::ranges::find(kept_.files, path) == kept_.files.end()) return answer(false);
    answer(fs::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)));
  }

  bool keep_source(fs::UniqueFd source, bool read_only) {
    if (kept_.is_confined || opener_ || !source) return false;
    auto opener = HandleOpener::make(std::move(source), read_only);
    if (opener) opener_ = std::move(*opener);
    return opener.has_value();
  }

  void open_by_handle(const std::string& text) const {
    answer(opener_ ? opener_->open(text) : fs::system_error_of(EPERM, "open"));
  }

  // The daemon reads the output.  The watchdog thus waits for no program, and learns no secret.
  void start_program(const fs::UniqueFd& errors) {
    end_program();
    if (kept_.program.empty()) return answer(false);
    auto started = net::ChildProgram::start(
        kept_.program, {.errors = errors ? errors.get() : STDERR_FILENO, .own_group = true});
    if (!started) return answer(false);
    program_ = std::move(*started);
    send_message(socket_, kDone, "", program_->output());
    program_->close_output();
  }

  // A program that waits for a filesystem does not end at once, and the watchdog does not wait.
  void end_program() {
    if (!program_) return;
    program_->kill();
    killed_.push_back(std::move(program_));
  }

  void tell_state() const {
    const auto state = program_ ? program_->state() : net::RunningProgram::State::failed;
    send_message(socket_, static_cast<char>(state), "");
  }

  const int socket_;
  Kept kept_;
  std::optional<HandleOpener> opener_;
  std::vector<fs::UniqueFd> held_;
  std::unique_ptr<net::ChildProgram> program_;
  std::vector<std::unique_ptr<net::ChildProgram>> killed_;
};

}  // namespace

int run_watchdog() {
  name_watchdog();
  // Ignores the signals that end the daemon in order, because a sender may signal both processes.
  // The daemon ends the watchdog afterwards.
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    static_cast<void>(::signal(signal, SIG_IGN));
  }
  sigset_t none;
  sigemptyset(&none);
  if (::sigprocmask(SIG_SETMASK, &none, nullptr) != 0) return 1;
  if (::chdir("/") != 0) return 1;  // keep no directory busy that a user might unmount
  Service service(STDIN_FILENO);
  const auto& kept = service.run();
  ::alarm(kPatienceSeconds);  // ends the process, even while it waits for a filesystem
  // A confined daemon without a mount died before the mount was made.  A dead mount at the
  // mountpoint belongs to another daemon.
  const bool has_mount = kept.mount || !kept.is_confined;
  if (has_mount && !kept.mountpoint.empty() && clear(kept)) report_vanished(kept);
  return 0;
}

}  // namespace framefs::fuse
