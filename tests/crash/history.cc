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
    const auto latest = file->second.states.size() - 1;
    file->second.promise = {.frame = latest, .plain = latest};
    file->second.is_name_synced = !file->second.is_renamed;
    return true;
  }
  if (verb == "replaced") {
    const auto file = files_.find(id);
    if (file == files_.end() || file->second.states.empty()) return false;
    file->second.promise.frame = file->second.states.size() - 1;
    return true;
  }
  if (verb == "replaces") {
    std::uint64_t other = 0;
    std::string replaced;
    return in >> other >> replaced && add_replacement(id, other, replaced);
  }
  if (verb == "leaves") {
    std::string left;
    if (!(in >> left)) return false;
    replaced_.erase(left);
    return true;
  }
  if (verb == "names") {
    const auto file = files_.find(id);
    if (file == files_.end()) return false;
    std::vector<std::string> names(std::istream_iterator<std::string>(in), {});
    // A name under which the file may be gone still leads to this file or to the next.
    if (std::ranges::find(names, kNoName) == names.end()) {
      file->second.is_renamed = true;
      file->second.is_name_synced = false;
    }
    file->second.names = std::move(names);
    return true;
  }
  std::string name;
  if (verb == "file" && !(in >> name)) return false;
  std::string hash;
  if ((verb != "file" && verb != "state") || !(in >> hash)) return false;
  if (verb == "file") files_[id] = {.name = name, .names = {name}, .states = {}, .promise = {}};
  auto& states = files_[id].states;
  if (hash == "any") {
    states.emplace_back();
  } else {
    states.emplace_back(std::stoull(hash, nullptr, 16));
  }
  return true;
}

// The latest state of a frame is durable before the name leads to it.
bool History::add_replacement(std::uint64_t id, std::uint64_t other, const std::string& name) {
  const auto moved = files_.find(id);
  const auto lost = files_.find(other);
  if (moved == files_.end() || moved->second.states.empty() || lost == files_.end()) return false;
  auto& holders = replaced_[name];
  if (holders.empty() || holders.back().id != other) holders = {{.id = other, .promise = {}}};
  holders.back().promise = lost->second.promise;
  holders.back().is_name_synced = lost->second.is_name_synced;
  auto promise = moved->second.promise;
  promise.frame = moved->second.states.size() - 1;
  holders.push_back({.id = id, .promise = promise, .is_name_synced = false});
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
