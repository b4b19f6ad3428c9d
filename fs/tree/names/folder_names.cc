#include "fs/tree/names/folder_names.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "fs/core/resources/descriptor_shares.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/name_claims.h"

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

// Counts the entries that have or want a name, for each name that one could have besides its own.
NameClaims claims_of(const std::vector<Item>& items, const std::vector<Special>& specials) {
  std::size_t names = 0;
  for (const auto& special : specials) names += special.wanted.size() + special.second.size();
  NameClaims claims(names);
  for (const auto& special : specials) {
    for (const auto& shown : special.wanted) {
      auto& claim = claims.claim(shown.name);
      ++claim.entries;
      if (shown.shown_as == ShownAs::frame) ++claim.frames;
    }
    for (const auto& shown : special.second) claims.claim(shown.name);
  }
  if (names == 0) return claims;
  for (const auto& item : items) {
    if (auto* const claim = claims.find(item.name)) ++claim->entries;
  }
  return claims;
}

void choose(Special& special, const std::string& name, const NameChoice& choice,
            const NameClaims& claims) {
  const auto is_taken = [&](const std::string& asked, NameChoice::Prefers prefers) {
    const auto* const claim = claims.find(asked);
    if (claim == nullptr) return false;
    const auto& own = special.wanted;
    const bool is_own = std::ranges::find(own, asked, &ShownName::name) != own.end();
    const auto yielding = prefers == NameChoice::Prefers::array ? claim->frames : 0;
    return claim->entries - yielding > (is_own ? 1U : 0U);
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
