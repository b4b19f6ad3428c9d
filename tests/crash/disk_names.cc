#include "tests/crash/disk_names.h"

#include <algorithm>
#include <random>
#include <set>

namespace framefs::test {

void DiskNames::add_durable(const Place& place, Node node) {
  durable_[place.directory][place.name] = node;
  tree_[place.directory][place.name] = node;
}

void DiskNames::add_directory(Node node) {
  durable_[node];
  tree_[node];
}

void DiskNames::make(Tree& tree, const Change& change) const {
  // Check all conditions first: in an exchange, each condition depends on a name that the other
  // changes.
  std::vector<const Setting*> due;
  for (const auto& setting : change.settings) {
    const auto newer = durable_since_.find(setting.place);
    if (newer != durable_since_.end() && newer->second > change.moment) continue;
    const auto& names = tree[setting.place.directory];
    const auto found = names.find(setting.place.name);
    const bool fits =
        !setting.only_if || (found != names.end() && found->second == *setting.only_if);
    if (fits) due.push_back(&setting);
  }
  for (const auto* setting : due) {
    auto& names = tree[setting->place.directory];
    if (setting->node) {
      names[setting->place.name] = *setting->node;
    } else {
      names.erase(setting->place.name);
    }
  }
}

void DiskNames::change(std::uint64_t moment, std::vector<Setting> settings) {
  pending_.push_back({moment, std::move(settings)});
  make(tree_, pending_.back());
}

template <class Wanted>
void DiskNames::sync(std::uint64_t moment, const Wanted& wanted) {
  const auto is_due = [&](const Change& change) {
    return change.moment < moment && std::ranges::any_of(change.settings, wanted);
  };
  std::uint64_t last = 0;
  for (const auto& change : pending_) {
    if (is_due(change)) last = change.moment;
  }
  std::erase_if(pending_, [&](const Change& change) {
    if (!is_due(change) && !(journal_ && change.moment <= last)) return false;
    make(durable_, change);
    for (const auto& setting : change.settings) {
      auto& since = durable_since_[setting.place];
      since = std::max(since, change.moment);
    }
    return true;
  });
}

void DiskNames::sync_all(std::uint64_t moment) {
  sync(moment, [](const Setting&) { return true; });
}

void DiskNames::sync_directory(Node directory, std::uint64_t moment) {
  sync(moment, [&](const Setting& setting) { return setting.place.directory == directory; });
}

void DiskNames::sync_node(Node node, std::uint64_t moment) {
  // The node and all directories above it, under all of its names.
  std::set<Node> wanted{node};
  for (std::size_t before = 0; before != wanted.size();) {
    before = wanted.size();
    for (const auto& [directory, names] : tree_) {
      for (const auto& [name, child] : names) {
        if (wanted.contains(child)) wanted.insert(directory);
      }
    }
  }
  sync(moment,
       [&](const Setting& setting) { return setting.node && wanted.contains(*setting.node); });
}

std::optional<DiskNames::Place> DiskNames::place_of(const std::string& path) const {
  Node directory = kRoot;
  std::size_t begin = 0;
  while (true) {
    const auto slash = path.find('/', begin);
    if (slash == std::string::npos) return Place{directory, path.substr(begin)};
    const auto& names = tree_.at(directory);
    const auto found = names.find(path.substr(begin, slash - begin));
    if (found == names.end() || !tree_.contains(found->second)) return std::nullopt;
    directory = found->second;
    begin = slash + 1;
  }
}

std::optional<DiskNames::Node> DiskNames::find(const std::string& path) const {
  if (path == ".") return kRoot;
  const auto place = place_of(path);
  if (!place) return std::nullopt;
  const auto& names = tree_.at(place->directory);
  const auto found = names.find(place->name);
  if (found == names.end()) return std::nullopt;
  return found->second;
}

DiskNames::Tree DiskNames::tree_after(Loss loss, std::uint64_t seed) const {
  if (loss == Loss::nothing) return tree_;
  Tree tree = durable_;
  if (loss == Loss::all) return tree;
  std::mt19937_64 random(seed);
  const auto kept = random() % (pending_.size() + 1);
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (journal_ ? i < kept : random() % 2 == 0) make(tree, pending_[i]);
  }
  return tree;
}

}  // namespace framefs::test
