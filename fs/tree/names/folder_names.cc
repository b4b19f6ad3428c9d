#include "fs/tree/names/folder_names.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "fs/core/resources/descriptor_shares.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

using Item = Folder::Item;

// An entry that may be shown under another name than its own.
struct Special {
  std::size_t item = 0;  // its index
  FrameSummary summary;
  std::vector<ShownName> wanted;
  std::vector<ShownName> second;  // see second_names()
  bool wins = false;              // it gets the names that it wants
  std::vector<ShownName> kept;    // those that it gets otherwise
};

// How many entries have or want a name.
struct Claim {
  std::size_t entries = 0;
  std::size_t frames = 0;  // those that want to be frames of bytes
};
using Claims = std::unordered_map<std::string_view, Claim>;

// Calls body(i) for 0 <= i < count.  To hand over each of them would take as long as the system
// call or two that a call makes.
void for_each_in_batches(WorkerPool& pool, std::size_t count,
                         const std::function<void(std::size_t)>& body) {
  constexpr std::size_t kAtOnce = 64;
  pool.run((count + kAtOnce - 1) / kAtOnce, [&](std::size_t batch) {
    const auto end = std::min(count, (batch + 1) * kAtOnce);
    for (auto i = batch * kAtOnce; i < end; ++i) body(i);
  });
}

// Probes the entries that may be special, and returns them in the order of the items.
Result<std::vector<Special>> probe_all(const Folder& folder, const std::vector<Item>& items,
                                       const NameChoice& choice, WorkerPool& pool) {
  std::vector<Special> specials;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (folder.may_be_special(items[i])) specials.emplace_back().item = i;
  }
  std::atomic<int> shortage{0};  // the errno of a probe
  for_each_in_batches(pool, specials.size(), [&](std::size_t i) {
    auto& special = specials[i];
    const auto& name = items[special.item].name;
    const auto summary = folder.summary(name);
    // Without its probe, a frame would be listed by its full name.
    if (!summary && is_shortage(summary.error())) shortage.store(summary.error().sys);
    if (!summary) return;
    special.summary = *summary;
    special.wanted = choice.wanted(name, *summary);
    special.second = second_names(name, *summary, choice.arrays());
  });
  if (const int error = shortage.load(); error != 0) return system_error_of(error, "readdir");
  return specials;
}

// The claims to each name that an entry could have besides its own.
Claims claims_of(const std::vector<Item>& items, const std::vector<Special>& specials) {
  Claims claims;
  claims.reserve(specials.size());
  for (const auto& special : specials) {
    for (const auto& shown : special.wanted) {
      auto& claim = claims[shown.name];
      ++claim.entries;
      if (shown.shown_as == ShownAs::frame) ++claim.frames;
    }
    for (const auto& shown : special.second) claims.try_emplace(shown.name);
  }
  for (const auto& item : items) {
    const auto claim = claims.find(item.name);
    if (claim != claims.end()) ++claim->second.entries;
  }
  return claims;
}

void choose(Special& special, const std::string& name, const NameChoice& choice,
            const Claims& claims) {
  const auto is_taken = [&](const std::string& asked, NameChoice::Prefers prefers) {
    const auto claim = claims.find(asked);
    if (claim == claims.end()) return false;
    const auto& own = special.wanted;
    const bool is_own = std::ranges::find(own, asked, &ShownName::name) != own.end();
    const auto yielding = prefers == NameChoice::Prefers::array ? claim->second.frames : 0;
    return claim->second.entries - yielding > (is_own ? 1U : 0U);
  };
  special.wins = choice.wins(special.wanted, is_taken);
  if (!special.wins) special.kept = choice.kept(name, special.summary, is_taken);
}

}  // namespace

Result<std::vector<DirectoryEntry>> name_all(const Folder& folder, const NameChoice& choice,
                                             WorkerPool& pool) {
  FRAMEFS_TRY(auto items, folder.items());
  FRAMEFS_TRY(auto specials, probe_all(folder, items, choice, pool));
  {
    const auto claims = claims_of(items, specials);
    for_each_in_batches(pool, specials.size(), [&](std::size_t i) {
      choose(specials[i], items[specials[i].item].name, choice, claims);
    });
  }
  // The claims, which refer to the names, are gone: the names move.
  std::vector<DirectoryEntry> listing;
  listing.reserve(items.size());
  auto special = specials.begin();
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto& item = items[i];
    const bool is_special = special != specials.end() && special->item == i;
    auto* const chosen = is_special ? &*special++ : nullptr;
    if (is_hidden(item.name)) continue;
    if (chosen == nullptr) {
      ShownName own{item.name, ShownAs::itself};
      listing.push_back(shown_entry(std::move(own), std::move(item)));
      continue;
    }
    auto& names = chosen->wins ? chosen->wanted : chosen->kept;
    for (auto& shown : names) {
      const bool is_last = &shown == &names.back();
      listing.push_back(shown_entry(std::move(shown), is_last ? std::move(item) : Item(item)));
    }
  }
  return listing;
}

}  // namespace framefs::fs
