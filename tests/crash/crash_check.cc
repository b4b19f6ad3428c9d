#include "tests/crash/crash_check.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "tests/support/fast_hash.h"

namespace framefs::test {
namespace {

// All nodes that have a name, in directories that have one.
std::set<DiskNames::Node> named_nodes(const DiskNames::Tree& tree) {
  std::set<DiskNames::Node> named;
  std::vector<DiskNames::Node> left{DiskNames::kRoot};
  while (!left.empty()) {
    const auto directory = left.back();
    left.pop_back();
    for (const auto& [name, node] : tree.at(directory)) {
      if (named.insert(node).second && tree.contains(node)) left.push_back(node);
    }
  }
  return named;
}

std::uint64_t hash_of(const FrameFiles& files) {
  FastHash hash;
  for (const auto& [name, bytes] : files) {
    hash.add(std::as_bytes(std::span(name)));
    hash.add(fast_hash(bytes));
  }
  return hash.value();
}

// Finds the entry of a directory that is shown as `name`.  A plain file hides a frame.
std::optional<std::pair<DiskNames::Node, bool>> find_shown(
    const std::map<std::string, DiskNames::Node>& entries, const std::string& name) {
  if (const auto plain = entries.find(name); plain != entries.end()) {
    return std::pair(plain->second, false);
  }
  for (const auto& [entry, node] : entries) {
    if (shown_frame_name(entry) == name) return std::pair(node, true);
  }
  return std::nullopt;
}

// Losses differ from file to file.
std::uint64_t seed_for(std::uint64_t seed, DiskNames::Node node) {
  FastHash hash;
  hash.add(seed);
  hash.add(node);
  return hash.value();
}

}  // namespace

bool CrashCheck::apply(const Record& record) {
  if (record.head.kind != RecordKind::mark) {
    return disk_.apply(record.head, record.path, record.path2, record.data);
  }
  const std::string mark(as_chars(record.data.data()), record.data.size());
  if (!history_.add(mark)) return false;
  std::istringstream in(mark);
  std::string verb;
  std::uint64_t id = 0;
  std::string name;
  in >> verb >> id >> name;
  return verb != "file" || bind(id, name);
}

// Finds the entry of SOURCE that is shown as `name`, and binds the id to it.
bool CrashCheck::bind(std::uint64_t id, const std::string& name) {
  const auto slash = name.rfind('/') + 1;
  const auto place = disk_.names().place_of(name);
  if (!place) return false;
  const auto found = find_shown(disk_.names().tree().at(place->directory), name.substr(slash));
  if (found) shown_[id] = {.node = found->first, .is_frame = found->second};
  return found.has_value();
}

FrameFiles CrashCheck::files_of(Node node, const DiskNames::Tree& tree,
                                const Variant& variant) const {
  FrameFiles files;
  const auto add = [&](const std::string& name, Node file) {
    files[name] = disk_.file(file).bytes_after(variant.loss, seed_for(variant.seed, file));
  };
  if (!disk_.is_directory(node)) {
    add("", node);
    return files;
  }
  for (const auto& [name, file] : tree.at(node)) {
    if (disk_.is_file(file)) add(name, file);
  }
  return files;
}

codec::Result<std::uint64_t> CrashCheck::state_of(const Shown& shown, const FrameFiles& files) {
  if (!shown.is_frame) return state_hash(files.at(""), {});
  const auto hash = hash_of(files);
  const auto known = known_.find(hash);
  if (known != known_.end()) return known->second;
  ++counts_.decoded;
  return known_.emplace(hash, frame_state(files)).first->second;
}

std::string CrashCheck::check_file(std::uint64_t id, const DiskNames::Tree& tree, bool is_named,
                                   const Variant& variant) {
  const auto& shown = shown_.at(id);
  const auto& file = history_.files().at(id);
  ++counts_.frames;
  // For a file that was never synced, POSIX guarantees nothing after a loss of power.  If only the
  // daemon was killed, the file must have its latest state; its first state is the empty frame.
  const bool is_removed = std::ranges::find(file.names, History::kNoName) != file.names.end();
  const auto promise = file.promise.of(shown.is_frame);
  const bool is_promised = (promise || variant.loss == Loss::nothing) && !is_removed;
  if (!is_named) {
    if (is_promised) return "it is gone";
    ++counts_.never_synced;
    return {};
  }
  const auto state = state_of(shown, files_of(shown.node, tree, variant));
  if (!state) {
    if (is_promised) return "it cannot be read: " + fs::describe(state.error());
    ++counts_.never_synced;
    return {};
  }
  const auto verdict = judge(file, promise.value_or(0), *state);
  ++(verdict.is_latest ? counts_.latest : counts_.older);
  return verdict.is_allowed || !is_promised ? "" : verdict.text;
}

std::string CrashCheck::check_name(const std::string& name, const History::Holders& holders,
                                   const DiskNames::Tree& tree, const Variant& variant) {
  ++counts_.names;
  const bool is_killed = variant.loss == Loss::nothing;
  const auto found = find_shown(tree.at(DiskNames::kRoot), name);
  if (!found) {
    const bool was_durable = std::ranges::any_of(holders, &History::Holder::is_name_synced);
    return is_killed || was_durable ? "it is gone" : "";
  }
  const auto held = is_killed ? holders.end() - 2 : holders.begin();
  const auto holder = std::ranges::find_if(held, holders.end(), [&](const auto& each) {
    return shown_.at(each.id).node == found->first;
  });
  if (holder == holders.end()) return "it leads to a file that it never had";
  const auto& shown = shown_.at(holder->id);
  const auto promise = holder->promise.of(shown.is_frame);
  if (!promise && !is_killed) return {};
  const auto state = state_of(shown, files_of(shown.node, tree, variant));
  if (!state) return "it cannot be read: " + fs::describe(state.error());
  const auto verdict = judge(history_.files().at(holder->id), promise.value_or(0), *state);
  return verdict.is_allowed ? "" : verdict.text;
}

std::vector<std::string> CrashCheck::check(const Variant& variant) {
  ++counts_.images;
  std::vector<std::string> wrong;
  const auto tree = disk_.names().tree_after(variant.loss, variant.seed);
  const auto named = named_nodes(tree);
  const auto named_by_all = named_nodes(disk_.names().tree());
  for (const auto& [id, shown] : shown_) {
    const bool is_named = named.contains(shown.node);
    // The file was removed on purpose by then.
    if (!is_named && !named_by_all.contains(shown.node)) continue;
    auto text = check_file(id, tree, is_named, variant);
    if (!text.empty()) {
      wrong.push_back(fmt::format("{} (file {}): {}", history_.files().at(id).name, id, text));
    }
  }
  for (const auto& [name, holders] : history_.replaced()) {
    auto text = check_name(name, holders, tree, variant);
    if (text.empty()) continue;
    wrong.push_back(fmt::format("{}, renamed over {} times: {}", name, holders.size() - 1, text));
  }
  return wrong;
}

std::map<std::string, std::optional<Bytes>> CrashCheck::image(const Variant& variant) const {
  const auto tree = disk_.names().tree_after(variant.loss, variant.seed);
  std::map<std::string, std::optional<Bytes>> files;
  std::vector<std::pair<std::string, Node>> left{{"", DiskNames::kRoot}};
  while (!left.empty()) {
    const auto [folder, directory] = left.back();
    left.pop_back();
    for (const auto& [name, node] : tree.at(directory)) {
      const auto path = folder + name;
      if (tree.contains(node)) {
        files[path] = std::nullopt;
        left.emplace_back(path + "/", node);
      } else if (disk_.is_file(node)) {
        files[path] = disk_.file(node).bytes_after(variant.loss, seed_for(variant.seed, node));
      }
    }
  }
  return files;
}

}  // namespace framefs::test
