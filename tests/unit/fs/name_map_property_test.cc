// Random names in folders.  See name_map_test.cc for chosen ones.

#include <dirent.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/support/random_seed.h"
#include "tests/unit/fs/source_kinds.h"

namespace framefs::fs::name_map_property_test {
namespace {

// A folder in memory, so that a property can be checked on thousands of folders.
class FakeFolder final : public Folder {
 public:
  explicit FakeFolder(Files files) : files_(std::move(files)) {}

  Result<std::vector<Item>> items() const override {
    std::vector<Item> items;
    for (const auto& [name, kind] : files_) {
      items.push_back({name, items.size() + 1, static_cast<unsigned char>(IFTODT(mode_of(kind)))});
    }
    return items;
  }
  Result<SourceEntry> probe(const std::string& name) const override {
    const auto at = files_.find(name);
    if (at == files_.end()) return system_error_of(ENOENT, "lookup");
    SourceEntry entry;
    entry.stat.st_mode = mode_of(at->second);
    entry.summary = summary_of(name, at->second);
    return entry;
  }

  static FrameSummary summary_of(const std::string& name, Kind kind) {
    const bool is_sparse = kind == Kind::sparse_frame || kind == Kind::sparse_array;
    const bool is_array =
        kind == Kind::array || kind == Kind::opaque_array || kind == Kind::sparse_array;
    if (!is_sparse && !is_array && kind != Kind::frame && kind != Kind::damaged_frame) return {};
    if (stem_of(name).empty()) return {};
    if (!is_array || without(kArraySuffix, name).empty()) {
      return {.content = Content::frame, .is_sparse = is_sparse};
    }
    return {
        .content = Content::array, .is_sparse = is_sparse, .is_numpy = kind != Kind::opaque_array};
  }

 private:
  static mode_t mode_of(Kind kind) {
    if (kind == Kind::link) return S_IFLNK;
    if (kind == Kind::fifo) return S_IFIFO;
    const bool is_folder =
        kind == Kind::folder || kind == Kind::sparse_frame || kind == Kind::sparse_array;
    return is_folder ? S_IFDIR : S_IFREG;
  }

  const Files files_;
};

// The rule as the header states it, by brute force.
struct Rule {
  Files files;
  bool keep_suffix = false;
  ArrayViews arrays = ArrayViews::npy;

  using Names = std::map<std::string, ShownAs>;
  // The names for `base`, which is the file's name with or without its suffix.
  [[nodiscard]] Names names_for(const std::string& base, const FrameSummary& file) const {
    if (file.content == Content::frame) return {{base, ShownAs::frame}};
    const bool npy = file.is_numpy && arrays != ArrayViews::raw;
    const bool raw = !npy || arrays == ArrayViews::both;
    Names names;
    if (raw) names[base] = ShownAs::array;
    if (npy) names[base + ".npy"] = ShownAs::npy;
    return names;
  }
  [[nodiscard]] Names wanted(const std::string& name) const {
    const auto file = FakeFolder::summary_of(name, files.at(name));
    if (keep_suffix || file.content == Content::other) return {};
    return names_for(stem_of(name), file);
  }
  [[nodiscard]] Names full(const std::string& name) const {
    const auto file = FakeFolder::summary_of(name, files.at(name));
    if (file.content == Content::other) return {{name, ShownAs::itself}};
    Names names = names_for(name, file);
    // If only the NumPy file is shown, it takes the unchanged name of the source.
    if (names.size() == 1) return {{name, names.begin()->second}};
    return names;
  }
  // `precedes_frames`: an array wants the name of a NumPy file.
  [[nodiscard]] bool is_free(const std::string& name, const std::string& source,
                             bool precedes_frames) const {
    if (files.contains(name)) return false;
    return std::ranges::none_of(files, [&](const auto& other) {
      if (other.first == source) return false;
      const auto names = wanted(other.first);
      const auto same = names.find(name);
      return same != names.end() && !(precedes_frames && same->second == ShownAs::frame);
    });
  }
  [[nodiscard]] Listing listing() const {
    Listing shown;
    for (const auto& [source, kind] : files) {
      if (source.ends_with(".b2lock")) continue;
      auto names = wanted(source);
      const auto won = [&](const auto& name) {
        return is_free(name.first, source, name.second == ShownAs::npy);
      };
      if (names.empty() || !std::ranges::all_of(names, won)) {
        names = full(source);
        std::erase_if(names, [&](const auto& name) {
          return name.first != source && !is_free(name.first, source, false);
        });
      }
      for (const auto& [name, shown_as] : names) shown[name] = {source, shown_as};
    }
    return shown;
  }
};

std::string random_name(std::mt19937& random) {
  constexpr std::array kBases = {"x", "y", ".", "..", "", "chunks", "\xff", "x.npy"};
  constexpr std::array kSuffixes = {".b2frame", ".b2f", ".b2",     ".b2b", ".b2nd",
                                    ".b2nd",    ".npy", ".b2lock", ".b2e"};
  std::string name = kBases[random() % kBases.size()];
  for (auto left = random() % 4; left > 0; --left) name += kSuffixes[random() % kSuffixes.size()];
  return name.empty() || name == "." || name == ".." ? "z" : name;
}

Files random_files(std::mt19937& random, std::size_t most) {
  Files files;
  for (auto left = random() % most; left > 0; --left) {
    // Mostly kinds that get other names.
    const auto kind = random() % 3 != 0 ? kKinds[random() % 6] : kKinds[random() % kKinds.size()];
    const auto name = random_name(random);
    // The target of a link does not matter.  Containers are not part of this test.
    if (!name.ends_with(".b2e")) files.emplace(name, kind);
  }
  return files;
}

void check_rule(const Rule& rule, NameTree& tree, const Folder& folder) {
  std::string what;
  for (const auto& [name, kind] : rule.files) {
    what += name + "=" + std::to_string(static_cast<int>(kind)) + " ";
  }
  CAPTURE(what, rule.keep_suffix, static_cast<int>(rule.arrays));
  const auto expected = rule.listing();
  check_both(tree.directory, folder, expected, names_around(rule.files));
  // Every file is shown, whatever its name.
  std::set<std::string> sources;
  for (const auto& [name, shown] : expected) sources.insert(shown.source);
  for (const auto& [name, kind] : rule.files) {
    CHECK(sources.contains(name) == !name.ends_with(".b2lock"));
  }
}

// Oracle: the brute-force rule, and a comparison of list() with find().
TEST_CASE("name_map: list() and find() agree on random folders", "[fs][name_map][unit][long]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (const bool keep_suffix : {false, true}) {
    for (const auto arrays : {ArrayViews::npy, ArrayViews::raw, ArrayViews::both}) {
      NameTree tree(keep_suffix, arrays);
      for (int round = 0; round < 200; ++round) {
        const Rule rule{random_files(random, 12), keep_suffix, arrays};
        check_rule(rule, tree, FakeFolder(rule.files));
      }
    }
  }
}

// The same on disk, where names and kinds are read from the folder.
TEST_CASE("name_map: list() and find() agree on random folders on disk", "[fs][name_map][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    constexpr std::array kArrays = {ArrayViews::npy, ArrayViews::raw, ArrayViews::both};
    const Rule rule{random_files(random, 10), random() % 4 == 0, kArrays[random() % 3]};
    NameTree tree(rule.keep_suffix, rule.arrays);
    const SourceFiles source(rule.files);
    check_rule(rule, tree, tree.folder(source));
  }
}

}  // namespace
}  // namespace framefs::fs::name_map_property_test
