#include "fs/tree/names/name_map.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "fs/core/resources/descriptor_shares.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/folder_names.h"
#include "fs/tree/names/gradual_listing.h"

namespace framefs::fs {
namespace {

// A folder without some of its entries.
class FolderWithout final : public Folder {
 public:
  // Lifetime: both arguments outlive it.
  FolderWithout(const Folder& folder, const std::vector<std::string>& leaving)
      : folder_(folder), leaving_(leaving) {}

  [[nodiscard]] Result<std::vector<Item>> items() const override {
    FRAMEFS_TRY(auto items, folder_.items());
    std::erase_if(items, [&](const Item& item) { return is_leaving(item.name); });
    return items;
  }
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override {
    if (is_leaving(name)) return system_error_of(ENOENT, "lookup");
    return folder_.probe(name);
  }
  void remove_absent(std::vector<std::string>& names) const override {
    std::erase_if(names, [this](const auto& name) { return is_leaving(name); });
    folder_.remove_absent(names);
  }
  [[nodiscard]] Expected expected(const std::string& name) const override {
    return folder_.expected(name);
  }

 private:
  [[nodiscard]] bool is_leaving(const std::string& name) const {
    return std::ranges::find(leaving_, name) != leaving_.end();
  }

  const Folder& folder_;
  const std::vector<std::string>& leaving_;
};

// Whether the error says that no entry has that name.
bool is_absence(const Error& error) { return error.sys == ENOENT || error.sys == ENAMETOOLONG; }

}  // namespace

// A listing of a folder whose entries have positions.  An entry is shown under two names at most,
// each of which has a position.
class NameMap::ListingByPosition final : public ShownListing {
 public:
  ListingByPosition(const NameMap& names, const Folder& folder) : names_(names), folder_(folder) {}

  Result<bool> read(std::uint64_t from, const Take& take) const override {
    bool has_any = false;
    for (auto at = from / kNames;; ++at) {
      const auto place = folder_.item_at(at, !has_any);
      // The next reader gets the error at its place.
      if (!place && has_any) return false;
      if (!place) return std::unexpected(place.error());
      if (place->kind == Folder::Place::Kind::later) return false;
      if (place->kind == Folder::Place::Kind::end) return true;
      if (place->kind == Folder::Place::Kind::none) continue;
      const auto shown = names_.shown_entries(folder_, place->item);
      if (!shown && has_any) return false;
      if (!shown) return std::unexpected(shown.error());
      for (std::size_t i = at == from / kNames ? from % kNames : 0; i < shown->size(); ++i) {
        if (!take((*shown)[i], at * kNames + i + 1)) return false;
        has_any = true;
      }
    }
  }

 private:
  static constexpr std::uint64_t kNames = 2;

  const NameMap& names_;
  const Folder& folder_;
};

Result<std::vector<DirectoryEntry>> NameMap::shown_entries(const Folder& folder,
                                                           const Folder::Item& item) const {
  std::vector<DirectoryEntry> entries;
  if (is_hidden(item.name)) return entries;
  if (!folder.may_be_special(item)) {
    entries.push_back(shown_entry({item.name, ShownAs::itself}, item));
    return entries;
  }
  const auto summary = folder.summary(item.name);
  // Without its probe, a frame would be listed by its full name.
  if (!summary && (is_shortage(summary.error()) || summary.error().sys == EINTR)) {
    return std::unexpected(summary.error());
  }
  for (auto& shown : names_in(folder, item.name, summary.value_or(FrameSummary{}))) {
    entries.push_back(shown_entry(std::move(shown), item));
  }
  return entries;
}

Result<std::shared_ptr<const ShownListing>> NameMap::open(const Folder& folder) const {
  if (folder.has_positions()) return std::make_shared<const ListingByPosition>(*this, folder);
  if (namers_ != nullptr) {
    FRAMEFS_TRY(auto names, FolderNames::of(folder, choice_, pool_));
    return std::make_shared<const GradualListing>(std::move(names), *namers_, pool_.threads());
  }
  FRAMEFS_TRY(auto entries, name_all(folder, choice_, pool_));
  return std::make_shared<const CompleteListing>(std::move(entries));
}

Result<std::vector<DirectoryEntry>> NameMap::list(const Folder& folder) const {
  if (!folder.has_positions()) return name_all(folder, choice_, pool_);
  const ListingByPosition listing(*this, folder);
  std::vector<DirectoryEntry> entries;
  std::uint64_t at = 0;
  const auto take = [&](const DirectoryEntry& entry, std::uint64_t next) {
    entries.push_back(entry);
    at = next;
    return true;
  };
  for (;;) {
    FRAMEFS_TRY(const bool is_all, listing.read(at, take));
    if (is_all) return entries;
  }
}

// The same for one entry: probes only the entries that could conflict with it.
std::vector<ShownName> NameMap::names_in(const Folder& folder, const std::string& source,
                                         const FrameSummary& file) const {
  const auto is_taken = [&](const std::string& name, NameChoice::Prefers prefers) {
    auto others = possible_sources(name);
    std::erase(others, source);
    others.insert(others.begin(), name);
    folder.remove_absent(others);
    return std::ranges::any_of(others, [&](const std::string& other) {
      const auto summary = folder.summary(other);
      if (other == name) return summary || !is_absence(summary.error());
      if (!summary) return false;
      const auto names = choice_.wanted(other, *summary);
      const auto shown = std::ranges::find(names, name, &ShownName::name);
      if (shown == names.end()) return false;
      return prefers != NameChoice::Prefers::array || shown->shown_as != ShownAs::frame;
    });
  };
  return choice_.chosen(source, file, is_taken);
}

Result<NameMap::Found> NameMap::find(const Folder& folder, const std::string& shown_name) const {
  if (shown_name.size() > NAME_MAX) return system_error_of(ENAMETOOLONG, "lookup");
  auto sources = possible_sources(shown_name);
  // The name itself, and the array whose second name it may be.
  sources.insert(sources.begin(), shown_name);
  const auto stem = stem_of(shown_name, kNpySuffix);
  std::string array(stem.value_or(""));
  if (stem && folder.expected(array) != Expected::nothing) sources.push_back(std::move(array));
  folder.remove_absent(sources);
  for (const auto& source : sources) {
    if (is_hidden(source)) continue;
    auto entry = folder.probe(source);
    // With an added suffix, a name may be too long for a file.
    if (!entry && !is_absence(entry.error())) return std::unexpected(entry.error());
    if (!entry) continue;
    const auto names = names_in(folder, source, entry->summary);
    const auto shown = std::ranges::find(names, shown_name, &ShownName::name);
    if (shown != names.end()) return Found{source, shown->shown_as, *entry};
    // No other entry can be shown under the name of an entry.
    if (source == shown_name) {
      const auto shown_as = full_names(source, entry->summary, choice_.arrays()).front().shown_as;
      return Found{source, shown_as, *entry, false};
    }
  }
  return system_error_of(ENOENT, "lookup");
}

Result<std::string> NameMap::place(const Folder& folder, const Newcomer& newcomer) const {
  const FolderWithout later(folder, newcomer.leaving);
  auto candidates = source_names(newcomer.asked, newcomer.source_name);
  if (newcomer.replaced) candidates.insert(candidates.begin(), *newcomer.replaced);
  int refusal = EPERM;
  for (const auto& name : candidates) {
    const auto summary = newcomer.summary(folder.expected(name));
    // Skips a name that would not be shown as asked even if it were alone.
    const auto alone = choice_.wanted(name, summary);
    const auto full = full_names(name, summary, choice_.arrays());
    const auto may_be = [&](const auto& names) {
      return std::ranges::find(names, newcomer.asked) != names.end();
    };
    if (!may_be(alone) && !may_be(full)) continue;
    if (name.size() > NAME_MAX) {
      refusal = ENAMETOOLONG;
      continue;
    }
    std::vector<std::string> taken{name};
    later.remove_absent(taken);
    if (!taken.empty() && later.probe(name)) {
      refusal = EEXIST;
      continue;
    }
    if (may_be(names_in(later, name, summary))) return name;
  }
  return system_error_of(refusal, "rename");
}

}  // namespace framefs::fs
