#include "fs/core/files/fusermount.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace framefs::fs {

Result<bool> run_fusermount(const std::string& mountpoint, bool lazy) {
  std::vector<std::string> words = {"fusermount3", "-u", "--", mountpoint};
  if (lazy) words.insert(words.begin() + 1, "-z");
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error != 0) return system_error_of(error, "fusermount3");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace framefs::fs
