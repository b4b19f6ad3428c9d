#include "tests/crash/history.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/core.h>

namespace framefs::test {

bool History::add(std::string_view mark) {
  std::istringstream in{std::string(mark)};
  std::string verb;
  std::uint64_t id = 0;
  if (!(in >> verb >> id)) return false;
  if (verb == "synced") {
    const auto file = files_.find(id);
    if (file == files_.end() || file->second.states.empty()) return false;
    file->second.synced = file->second.states.size() - 1;
    return true;
  }
  if (verb == "names") {
    const auto file = files_.find(id);
    if (file == files_.end()) return false;
    file->second.names.assign(std::istream_iterator<std::string>(in), {});
    return true;
  }
  std::string name;
  if (verb == "file" && !(in >> name)) return false;
  std::string hash;
  if ((verb != "file" && verb != "state") || !(in >> hash)) return false;
  if (verb == "file") files_[id] = {.name = name, .names = {name}, .states = {}, .synced = {}};
  auto& states = files_[id].states;
  if (hash == "any") {
    states.emplace_back();
  } else {
    states.emplace_back(std::stoull(hash, nullptr, 16));
  }
  return true;
}

Verdict judge(const History::File& file, std::size_t oldest, std::uint64_t found) {
  const auto& states = file.states;
  for (std::size_t i = states.size(); i-- > oldest;) {
    if (!states[i] || *states[i] == found) {
      return {.is_allowed = true, .text = {}, .is_latest = i + 1 == states.size()};
    }
  }
  const auto known = std::ranges::find(states, std::optional(found));
  if (known == states.end()) {
    return {.text = fmt::format(
                "it is in a state that it never had, {:016x}; states {} to {} were possible", found,
                oldest, states.size() - 1)};
  }
  return {.text =
              fmt::format("it is in state {}, but {} was synced", known - states.begin(), oldest)};
}

}  // namespace framefs::test
