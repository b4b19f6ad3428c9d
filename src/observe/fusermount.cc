#include "src/observe/fusermount.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "src/cli/collected_log.h"

namespace framefs {

namespace stdfs = std::filesystem;

stdfs::path mountpoint_path(const std::string& path) {
  std::error_code none;
  auto place = stdfs::absolute(path, none).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // "mnt/"
  return stdfs::weakly_canonical(place.parent_path(), none) / place.filename();
}

bool run_fusermount(const stdfs::path& mountpoint, bool lazy) {
  std::vector<std::string> words = {"fusermount3", "-u"};
  if (lazy) words.emplace_back("-z");
  words.emplace_back("--");
  words.push_back(mountpoint.string());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, pointers[0], nullptr, nullptr, pointers.data(), environ);
  if (error != 0) {
    print_messages({fmt::format("fusermount3: {}", std::generic_category().message(error))});
    return false;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace framefs
