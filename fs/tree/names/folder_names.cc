#include "fs/tree/names/folder_names.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "fs/core/resources/descriptor_shares.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/name_counts.h"

namespace framefs::fs {
namespace {

using Item = Folder::Item;

// An entry that another one may keep from its names.
struct Rival {
  FrameSummary summary;
  std::vector<ShownName> wanted;
  std::vector<ShownName> second;  // see second_names()
};

// How many entries have or want a name.
struct Claim {
  std::size_t entries = 0;
  std::size_t frames = 0;  // those that want to be frames of bytes
};
using Claims = std::unordered_map<std::string_view, Claim>;

// The entries that a thread takes at a time.  To hand over each of them would take as long as the
// system calls of a probe.
constexpr std::size_t kPart = 64;
std::size_t parts_of(std::size_t count) { return (count + kPart - 1) / kPart; }

// Calls body(i) for 0 <= i < count, each of them once, unless one has failed.
// Errors: one of those of the calls.
Status for_each_in_parts(WorkerPool& pool, std::size_t count,
                         const std::function<Status(std::size_t)>& body) {
  std::atomic<int> failed{0};  // the errno
  pool.run(parts_of(count), [&](std::size_t part) {
    const auto end = std::min(count, (part + 1) * kPart);
    for (auto i = part * kPart; i < end && failed.load() == 0; ++i) {
      if (const auto status = body(i); !status) failed.store(status.error().sys);
    }
  });
  if (const int error = failed.load(); error != 0) return system_error_of(error, "readdir");
  return {};
}

// Without its probe, a frame would be listed by its full name.
Result<FrameSummary> probe(const Folder& folder, const Item& item) {
  const auto summary = folder.summary_of(item);
  if (!summary && is_shortage(summary.error())) return summary;
  return summary.value_or(FrameSummary{});
}

// The claims to each name that a rival could have besides its own.
Claims claims_of(const std::vector<Item>& items, const std::vector<Rival>& rivals) {
  Claims claims;
  claims.reserve(rivals.size());
  for (const auto& rival : rivals) {
    for (const auto& shown : rival.wanted) {
      auto& claim = claims[shown.name];
      ++claim.entries;
      if (shown.shown_as == ShownAs::frame) ++claim.frames;
    }
    for (const auto& shown : rival.second) claims.try_emplace(shown.name);
  }
  for (const auto& item : items) {
    const auto claim = claims.find(item.name);
    if (claim != claims.end()) ++claim->second.entries;
  }
  return claims;
}

std::vector<ShownName> choose(const Rival& rival, const std::string& name, const NameChoice& choice,
                              const Claims& claims) {
  const auto is_taken = [&](const std::string& asked, NameChoice::Prefers prefers) {
    const auto claim = claims.find(asked);
    if (claim == claims.end()) return false;
    const auto& own = rival.wanted;
    const bool is_own = std::ranges::find(own, asked, &ShownName::name) != own.end();
    const auto yielding = prefers == NameChoice::Prefers::array ? claim->second.frames : 0;
    return claim->second.entries - yielding > (is_own ? 1U : 0U);
  };
  return choice.chosen(name, rival.summary, is_taken);
}

}  // namespace

Result<std::unique_ptr<FolderNames>> FolderNames::of(const Folder& folder, const NameChoice& choice,
                                                     WorkerPool& pool) {
  FRAMEFS_TRY(auto items, folder.items());
  std::unique_ptr<FolderNames> names(new FolderNames(folder, choice, std::move(items)));
  FRAMEFS_CHECK(names->name_rivals(names->find_rivals(), pool));
  return names;
}

FolderNames::FolderNames(const Folder& folder, const NameChoice& choice, std::vector<Item> items)
    : folder_(folder), choice_(choice), items_(std::move(items)) {
  are_special_.reserve(items_.size());
  for (const auto& item : items_) are_special_.push_back(folder_.may_be_special(item));
}

template <class Body>
void FolderNames::for_each_other_name_of(std::size_t number, const Body& body) const {
  if (are_special_[number]) for_each_other_name(items_[number].name, body);
}

// No other entry takes a name that occurs once among those that the entries have or could have.
std::vector<std::size_t> FolderNames::find_rivals() const {
  std::size_t count = items_.size();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    for_each_other_name_of(i, [&](std::string_view) { ++count; });
  }
  NameCounts counts(count);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    counts.add(items_[i].name);
    for_each_other_name_of(i, [&](std::string_view name) { counts.add(name); });
  }
  std::vector<std::size_t> rivals;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    bool is_alone = true;
    for_each_other_name_of(
        i, [&](std::string_view name) { is_alone = is_alone && counts.is_unique(name); });
    if (!is_alone) rivals.push_back(i);
  }
  return rivals;
}

Status FolderNames::name_rivals(const std::vector<std::size_t>& numbers, WorkerPool& pool) {
  std::vector<Rival> rivals(numbers.size());
  FRAMEFS_CHECK(for_each_in_parts(pool, rivals.size(), [&](std::size_t i) -> Status {
    const auto& item = items_[numbers[i]];
    FRAMEFS_TRY(const auto summary, probe(folder_, item));
    rivals[i] = {.summary = summary,
                 .wanted = choice_.wanted(item.name, summary),
                 .second = second_names(item.name, summary, choice_.arrays())};
    return {};
  }));
  const auto claims = claims_of(items_, rivals);
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    rivals_[numbers[i]] = choose(rivals[i], items_[numbers[i]].name, choice_, claims);
  }
  return {};
}

auto FolderNames::names_of(std::size_t number) const -> Result<Names> {
  const auto& item = items_[number];
  if (!are_special_[number]) return Names{{item.name, ShownAs::itself}};
  const auto rival = rivals_.find(number);
  if (rival != rivals_.end()) return rival->second;
  FRAMEFS_TRY(const auto summary, probe(folder_, item));
  return choice_.chosen(item.name, summary, [](const auto&, auto) { return false; });
}

Status FolderNames::add(std::size_t number, std::vector<DirectoryEntry>& entries) {
  auto& item = items_[number];
  if (is_hidden(item.name)) return {};
  FRAMEFS_TRY(auto names, names_of(number));
  // All memory comes before the item moves, so that nothing is lost if there is none.
  const auto needed = entries.size() + names.size();
  if (needed > entries.capacity()) entries.reserve(2 * needed);
  for (auto& shown : names) {
    const bool is_last = &shown == &names.back();
    entries.push_back(shown_entry(std::move(shown), is_last ? std::move(item) : Item(item)));
  }
  return {};
}

Result<std::vector<DirectoryEntry>> name_all(const Folder& folder, const NameChoice& choice,
                                             WorkerPool& pool) {
  FRAMEFS_TRY(const auto names, FolderNames::of(folder, choice, pool));
  std::vector<std::vector<DirectoryEntry>> parts(parts_of(names->size()));
  FRAMEFS_CHECK(for_each_in_parts(pool, names->size(),
                                  [&](std::size_t i) { return names->add(i, parts[i / kPart]); }));
  std::vector<DirectoryEntry> all;
  all.reserve(names->size());
  for (auto& part : parts) std::ranges::move(part, std::back_inserter(all));
  return all;
}

}  // namespace framefs::fs
