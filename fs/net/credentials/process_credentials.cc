#include "fs/net/credentials/process_credentials.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "fs/core/files/file.h"
#include "fs/net/credentials/credential_json.h"

namespace framefs::net {
namespace {

constexpr const char* kName = "credential_process";
constexpr std::chrono::seconds kLongest{60};
constexpr std::size_t kMaxOutputBytes = 64 << 10;
// How long a cancelled fetch may go on.
constexpr std::chrono::milliseconds kBetweenChecks{50};
// A program usually exits as soon as it has closed its output.
constexpr std::chrono::milliseconds kExitPause{2};

}  // namespace

Status ProcessCredentials::check(Clock::time_point end) const {
  if (is_cancelled_.load()) return fs::system_error_of(ECANCELED, kName);
  if (Clock::now() >= end) return fs::system_error_of(ETIMEDOUT, kName);
  return {};
}

// Reads the whole output of the program.  Errors: system.
Status ProcessCredentials::read_output(int fd, Clock::time_point end, std::string& output) const {
  while (output.size() <= kMaxOutputBytes) {
    FRAMEFS_CHECK(check(end));
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(kBetweenChecks.count())) <= 0) continue;
    std::array<char, 4096> some{};
    const auto count = ::read(fd, some.data(), some.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fs::system_error(kName);
    if (count == 0) return {};
    output.append(some.data(), static_cast<std::size_t>(count));
    wipe(some.data(), some.size());
  }
  return fs::system_error_of(EFBIG, kName);
}

Status ProcessCredentials::run(std::string& output) const {
  const auto end = Clock::now() + kLongest;
  auto started = access_.start_program(command_);
  if (!started) return fs::system_error_of(started.error().sys, kName);
  auto& program = **started;
  FRAMEFS_CHECK(read_output(program.output(), end, output));
  auto state = program.state();
  for (; state == RunningProgram::State::running; state = program.state()) {
    FRAMEFS_CHECK(check(end));
    std::this_thread::sleep_for(kExitPause);
  }
  if (state == RunningProgram::State::failed) return fs::system_error_of(EACCES, kName);
  return {};
}

Result<std::optional<Credentials>> ProcessCredentials::fetch() {
  std::string output;
  // Reallocation would leave copies.
  output.reserve(2 * kMaxOutputBytes);
  const auto ran = run(output);
  auto credentials = ran ? parse_credential_json(output) : std::unexpected(ran.error());
  wipe(output.data(), output.size());
  if (!credentials) return std::unexpected(credentials.error());
  return std::move(*credentials);
}

}  // namespace framefs::net
