#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace framefs::fs {

// Files whose written bytes are lost, or cannot be committed now.
class Losses {
 public:
  // More names are only counted.
  static constexpr std::size_t kMaxNames = 100;

  void add(const std::string& name) {
    if (std::ranges::find(names_, name) != names_.end()) return;
    if (names_.size() < kMaxNames) {
      names_.push_back(name);
    } else {
      ++unnamed_;
    }
  }
  [[nodiscard]] bool is_empty() const noexcept { return names_.empty(); }
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  // How many files have no name here.
  [[nodiscard]] std::size_t unnamed() const noexcept { return unnamed_; }

 private:
  std::vector<std::string> names_;
  std::size_t unnamed_ = 0;
};

}  // namespace framefs::fs
