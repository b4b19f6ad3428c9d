#pragma once

#include <climits>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/core/mount_options.h"
#include "fs/tree/names/shown_names.h"

namespace framefs::fs {

// The rule by which an entry gets its names: those that it wants, unless another entry has or wants
// one of them.  Threads: any number.
class NameChoice {
 public:
  NameChoice(bool keep_suffix, ArrayViews arrays) : keep_suffix_(keep_suffix), arrays_(arrays) {}

  [[nodiscard]] ArrayViews arrays() const { return arrays_; }

  // Which of the entries that want a name gets it.
  enum class Prefers : std::uint8_t { nothing, array };

  [[nodiscard]] std::vector<ShownName> wanted(std::string_view name,
                                              const FrameSummary& file) const {
    if (keep_suffix_) return {};
    return wanted_names(name, file, arrays_);
  }
  // The names that an entry gets.  `is_taken(name, prefers)`: whether another entry has the name or
  // wants it.
  template <class IsTaken>
  [[nodiscard]] std::vector<ShownName> chosen(std::string_view name, const FrameSummary& file,
                                              const IsTaken& is_taken) const {
    auto names = wanted(name, file);
    return wins(names, is_taken) ? names : kept(name, file, is_taken);
  }

 private:
  // Whether an entry gets the names that it wants, which are some.
  template <class IsTaken>
  [[nodiscard]] bool wins(const std::vector<ShownName>& wanted, const IsTaken& is_taken) const {
    for (const auto& shown : wanted) {
      const bool is_npy = shown.shown_as == ShownAs::npy;
      if (!is_free(shown, is_npy ? Prefers::array : Prefers::nothing, is_taken)) return false;
    }
    return !wanted.empty();
  }
  // The names of an entry that does not get those that it wants.  It always keeps its own name; a
  // second name yields to other entries.
  template <class IsTaken>
  [[nodiscard]] std::vector<ShownName> kept(std::string_view source, const FrameSummary& file,
                                            const IsTaken& is_taken) const {
    auto names = full_names(source, file, arrays_);
    std::erase_if(names, [&](const auto& shown) {
      return shown.name != source && !is_free(shown, Prefers::nothing, is_taken);
    });
    return names;
  }

  template <class IsTaken>
  static bool is_free(const ShownName& shown, Prefers prefers, const IsTaken& is_taken) {
    // A second name can be longer than the name in SOURCE, and longer than NAME_MAX.
    return shown.name.size() <= NAME_MAX && !is_taken(shown.name, prefers);
  }

  const bool keep_suffix_;
  const ArrayViews arrays_;
};

}  // namespace framefs::fs
