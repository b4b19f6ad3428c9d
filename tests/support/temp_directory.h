#pragma once

#include <stdlib.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace framefs::test {

// A new folder, which the destructor removes with its content.  Aborts the process if it cannot
// create the folder, because no test can continue.
class TempDirectory {
 public:
  TempDirectory() {
    auto name = (std::filesystem::temp_directory_path() / "framefs-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      std::perror("mkdtemp");
      std::abort();
    }
    path_ = name;
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Writes a file in the folder, replaces an existing one, and returns its path.
  std::filesystem::path write(const std::filesystem::path& name,
                              std::span<const std::byte> content) const {
    auto path = path_ / name;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    for (const std::byte b : content) file.put(std::to_integer<char>(b));
    return path;
  }
  std::filesystem::path write(const std::filesystem::path& name, std::string_view content) const {
    return write(name, std::as_bytes(std::span(content)));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace framefs::test
