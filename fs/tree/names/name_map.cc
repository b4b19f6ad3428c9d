#include "fs/tree/names/name_map.h"

#include <dirent.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "fs/core/resources/descriptor_shares.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

unsigned char type_of(ShownAs shown_as, unsigned char source_type) {
  switch (shown_as) {
    case ShownAs::itself:
      return source_type;
    case ShownAs::frame:
    case ShownAs::array:
    case ShownAs::npy:
      return DT_REG;
    case ShownAs::container:
    case ShownAs::single_entry:
      return DT_DIR;
  }
  return DT_UNKNOWN;
}

bool may_be_special(const Folder& folder, const Folder::Item& item) {
  const bool may_be_read = item.type == DT_REG || item.type == DT_DIR || item.type == DT_UNKNOWN;
  return may_be_read && folder.expected(item.name) != Expected::nothing;
}

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

std::vector<ShownName> NameMap::wanted(std::string_view name, const FrameSummary& file) const {
  if (keep_suffix_) return {};
  return wanted_names(name, file, arrays_);
}

// `is_taken`: whether another entry has the name or wants it, with a preference.
template <class Taken>
std::vector<ShownName> NameMap::names_of(const std::string& source, const FrameSummary& file,
                                         std::vector<ShownName> wanted_names,
                                         const Taken& is_taken) const {
  const auto is_free = [&](const ShownName& shown, Prefers prefers) {
    // A second name can be longer than the name in SOURCE, and longer than NAME_MAX.
    return shown.name.size() <= NAME_MAX && !is_taken(shown.name, prefers);
  };
  const auto is_won = [&](const ShownName& shown) {
    return is_free(shown, shown.shown_as == ShownAs::npy ? Prefers::array : Prefers::nothing);
  };
  if (!wanted_names.empty() && std::ranges::all_of(wanted_names, is_won)) return wanted_names;
  auto names = full_names(source, file, arrays_);
  // An entry always keeps its own name; a second name yields to other entries.
  std::erase_if(names, [&](const auto& shown) {
    return shown.name != source && !is_free(shown, Prefers::nothing);
  });
  return names;
}

// All entries of a folder, with the probe results of those that may be special.
struct NameMap::Classified {
  struct Special {
    std::size_t item = 0;  // its index
    FrameSummary summary;
    std::vector<ShownName> wanted;
    std::vector<ShownName> second;  // the full names but its own
  };
  std::vector<Folder::Item> items;
  std::vector<Special> specials;  // in the order of the items
};

Result<NameMap::Classified> NameMap::classify_all(const Folder& folder) const {
  Classified all;
  FRAMEFS_TRY(all.items, folder.items());
  FRAMEFS_CHECK(folder.prepare_probes());
  for (std::size_t i = 0; i < all.items.size(); ++i) {
    if (may_be_special(folder, all.items[i])) all.specials.emplace_back().item = i;
  }
  std::atomic<int> shortage{0};  // the errno of a probe
  const auto probe_special = [&](Classified::Special& special) {
    const auto& name = all.items[special.item].name;
    const auto summary = folder.summary(name);
    // Without its probe, a frame would be listed by its full name.
    if (!summary && is_shortage(summary.error())) shortage.store(summary.error().sys);
    if (!summary) return;
    special.summary = *summary;
    special.wanted = wanted(name, *summary);
    for (auto& shown : full_names(name, *summary, arrays_)) {
      if (shown.name != name) special.second.push_back(std::move(shown));
    }
  };
  // A probe takes a system call or two: distributing probes one by one would cost as much.
  constexpr std::size_t kAtOnce = 64;
  const auto count = all.specials.size();
  pool_.run(count / kAtOnce + 1, [&](std::size_t batch) {
    const auto end = std::min(count, (batch + 1) * kAtOnce);
    for (auto i = batch * kAtOnce; i < end; ++i) probe_special(all.specials[i]);
  });
  if (const int error = shortage.load(); error != 0) return system_error_of(error, "readdir");
  return all;
}

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
  if (!may_be_special(folder, item)) {
    entries.push_back({{item.name, ShownAs::itself}, item});
    return entries;
  }
  const auto summary = folder.summary(item.name);
  // Without its probe, a frame would be listed by its full name.
  if (!summary && (is_shortage(summary.error()) || summary.error().sys == EINTR)) {
    return std::unexpected(summary.error());
  }
  for (auto& shown : names_in(folder, item.name, summary.value_or(FrameSummary{}))) {
    const auto type = type_of(shown.shown_as, item.type);
    entries.push_back({std::move(shown), {item.name, item.inode, type, item.is_costly}});
  }
  return entries;
}

Result<std::shared_ptr<const ShownListing>> NameMap::open(const Folder& folder) const {
  if (folder.has_positions()) return std::make_shared<const ListingByPosition>(*this, folder);
  FRAMEFS_TRY(auto entries, list_at_once(folder));
  return std::make_shared<const CompleteListing>(std::move(entries));
}

Result<std::vector<DirectoryEntry>> NameMap::list(const Folder& folder) const {
  if (!folder.has_positions()) return list_at_once(folder);
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

Result<std::vector<DirectoryEntry>> NameMap::list_at_once(const Folder& folder) const {
  FRAMEFS_TRY(auto all, classify_all(folder));
  // The number of entries that have or want a name, and of the frames of bytes among them, for each
  // name that an entry could have besides its own.
  struct Claims {
    std::size_t all = 0;
    std::size_t frames = 0;
  };
  std::unordered_map<std::string_view, Claims> claims;
  claims.reserve(all.specials.size());
  for (const auto& special : all.specials) {
    for (const auto& shown : special.wanted) {
      auto& claim = claims[shown.name];
      ++claim.all;
      if (shown.shown_as == ShownAs::frame) ++claim.frames;
    }
    for (const auto& shown : special.second) claims.try_emplace(shown.name);
  }
  for (const auto& item : all.items) {
    const auto claim = claims.find(item.name);
    if (claim != claims.end()) ++claim->second.all;
  }
  std::vector<DirectoryEntry> listing;
  listing.reserve(all.items.size());
  const Classified::Special ordinary;
  auto special = all.specials.cbegin();
  for (std::size_t i = 0; i < all.items.size(); ++i) {
    auto& item = all.items[i];
    const bool is_special = special != all.specials.cend() && special->item == i;
    const auto& probed = is_special ? *special++ : ordinary;
    if (is_hidden(item.name)) continue;
    const auto is_taken = [&](const std::string& name, Prefers prefers) {
      const auto claim = claims.find(name);
      if (claim == claims.end()) return false;
      const auto& own = probed.wanted;
      const bool is_own = std::ranges::find(own, name, &ShownName::name) != own.end();
      const auto yielding = prefers == Prefers::array ? claim->second.frames : 0;
      return claim->second.all - yielding > (is_own ? 1U : 0U);
    };
    for (auto& shown : names_of(item.name, probed.summary, probed.wanted, is_taken)) {
      const auto type = type_of(shown.shown_as, item.type);
      listing.push_back({std::move(shown), {item.name, item.inode, type}});
    }
  }
  return listing;
}

// The same for one entry: probes only the entries that could conflict with it.
std::vector<ShownName> NameMap::names_in(const Folder& folder, const std::string& source,
                                         const FrameSummary& file) const {
  const auto is_taken = [&](const std::string& name, Prefers prefers) {
    auto others = possible_sources(name);
    std::erase(others, source);
    others.insert(others.begin(), name);
    folder.remove_absent(others);
    return std::ranges::any_of(others, [&](const std::string& other) {
      const auto summary = folder.summary(other);
      if (other == name) return summary || !is_absence(summary.error());
      if (!summary) return false;
      const auto names = wanted(other, *summary);
      const auto shown = std::ranges::find(names, name, &ShownName::name);
      if (shown == names.end()) return false;
      return prefers != Prefers::array || shown->shown_as != ShownAs::frame;
    });
  };
  return names_of(source, file, wanted(source, file), is_taken);
}

Result<NameMap::Found> NameMap::find(const Folder& folder, const std::string& shown_name) const {
  if (shown_name.size() > NAME_MAX) return system_error_of(ENAMETOOLONG, "lookup");
  auto sources = possible_sources(shown_name);
  // The name itself, and the array whose second name it may be.
  sources.insert(sources.begin(), shown_name);
  const auto stem = stem_of(shown_name, kNpySuffix);
  if (stem && folder.expected(*stem) != Expected::nothing) sources.push_back(*stem);
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
      const auto shown_as = full_names(source, entry->summary, arrays_).front().shown_as;
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
    const auto alone = wanted(name, summary);
    const auto full = full_names(name, summary, arrays_);
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
