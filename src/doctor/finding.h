#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace framefs {

// One line of `framefs doctor`.
struct Finding {
  enum class Level : std::uint8_t {
    ok,
    note,  // a mount works, and lacks something
    bad,   // a mount cannot work
  };
  Level level = Level::ok;
  std::string topic;  // "kernel"
  std::string text;   // for `note` and `bad`, the cause and the remedy
};

// The findings of one doctor, in the order in which they are printed.
class Findings {
 public:
  void ok(std::string topic, std::string text) {
    add({Finding::Level::ok, std::move(topic), std::move(text)});
  }
  void note(std::string topic, std::string text) {
    add({Finding::Level::note, std::move(topic), std::move(text)});
  }
  void bad(std::string topic, std::string text) {
    add({Finding::Level::bad, std::move(topic), std::move(text)});
  }
  void add(Finding finding) { list_.push_back(std::move(finding)); }
  void add_all(const Findings& others) {
    list_.insert(list_.end(), others.list_.begin(), others.list_.end());
  }

  [[nodiscard]] bool has_bad() const {
    for (const auto& finding : list_) {
      if (finding.level == Finding::Level::bad) return true;
    }
    return false;
  }
  // Makes notes of the bad ones.
  void soften() {
    for (auto& finding : list_) {
      if (finding.level == Finding::Level::bad) finding.level = Finding::Level::note;
    }
  }
  [[nodiscard]] const std::vector<Finding>& list() const noexcept { return list_; }

 private:
  std::vector<Finding> list_;
};

}  // namespace framefs
