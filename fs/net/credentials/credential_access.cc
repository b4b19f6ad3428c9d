#include "fs/net/credentials/credential_access.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "fs/net/credentials/child_program.h"
#include "fs/net/credentials/secret.h"

namespace framefs::net {

Result<fs::UniqueFd> DirectAccess::open_file(const std::string& path) const {
  fs::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return fs::system_error("open");
  return file;
}

Result<std::unique_ptr<RunningProgram>> DirectAccess::start_program(
    const std::string& command) const {
  FRAMEFS_TRY(auto program, ChildProgram::start(command, {.errors = STDERR_FILENO}));
  return program;
}

Result<std::string> read_token_file(const CredentialAccess& access, const std::string& path,
                                    const char* what) {
  // Far more than the header of a request may have.
  constexpr std::size_t kMaxTokenBytes = 64 << 10;
  const auto file = access.open_file(path);
  if (!file) return fs::system_error_of(ENOENT, what);
  std::string token;
  std::array<char, 4096> some{};
  while (!token.contains('\n')) {
    const auto count = ::read(file->get(), some.data(), some.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fs::system_error(what);
    if (count == 0) break;
    token.append(some.data(), static_cast<std::size_t>(count));
    wipe(some.data(), some.size());
    if (token.size() > kMaxTokenBytes) return fs::system_error_of(EFBIG, what);
  }
  token.resize(std::min(token.find('\n'), token.size()));
  if (token.empty()) return fs::system_error_of(ENOENT, what);
  return token;
}

}  // namespace framefs::net
