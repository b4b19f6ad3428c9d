#include "fs/remote/remote_listings.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/core.h>

namespace framefs::fs {
namespace {

using Clock = std::chrono::steady_clock;

// One line for all entries that a directory leaves out for one reason.
std::string left_out_text(const std::string& directory, const net::LeftOut& left,
                          std::string_view what) {
  constexpr std::size_t kShownBytes = 60;
  const bool is_long = left.first.size() > kShownBytes;
  return fmt::format("{}: {} {} not shown: {}, as \"{}{}\"", directory, left.count,
                     left.count == 1 ? "entry is" : "entries are", what,
                     left.first.substr(0, kShownBytes), is_long ? "..." : "");
}

}  // namespace

RemoteListings::RemoteListings(RemoteStore& store, const MountOptions& options,
                               RemoteProbes& probes, Log& log)
    : store_(store), probes_(probes), log_(log), age_(options) {
  // The listings hold charges, which hold the budget.
  store_.listing_budget().set_evict([kept = std::weak_ptr(listings_)] {
    const auto listings = kept.lock();
    return listings && drop_oldest(*listings);
  });
}

// The listing that is used for the shortest time goes first.
bool RemoteListings::drop_oldest(Listings& listings) {
  Listing dropped;  // destroyed after the lock
  return listings.with([&](auto& by_path) {
    const auto first = std::ranges::min_element(
        by_path, {}, [](const auto& known) { return known.second->fresh_until(); });
    if (first == by_path.end()) return false;
    dropped = std::move(first->second);
    by_path.erase(first);
    return true;
  });
}

void RemoteListings::drop_old(const std::string& path) {
  // More than are added, so that a walk drops them all in time.
  constexpr int kLookedAt = 3;
  std::vector<Listing> dropped;  // destroyed after the lock
  const auto now = Clock::now();
  listings_->with([&](auto& by_path) {
    auto at = by_path.upper_bound(path);
    for (int i = 0; i < kLookedAt && !by_path.empty(); ++i) {
      if (at == by_path.end()) at = by_path.begin();
      auto& [of, listing] = *at;
      if (of.empty() || listing->fresh_until() >= now) {
        ++at;
        continue;
      }
      dropped.push_back(std::move(listing));
      at = by_path.erase(at);
    }
  });
}

auto RemoteListings::kept(const std::string& path) const -> Listing {
  return listings_->with([&](const auto& by_path) -> Listing {
    const auto found = by_path.find(path);
    return found == by_path.end() ? nullptr : found->second;
  });
}

auto RemoteListings::recent(const std::string& path) const -> Listing {
  auto known = kept(path);
  const bool is_usable = known && known->fresh_until() >= Clock::now() && !known->has_failed();
  return is_usable ? known : nullptr;
}

auto RemoteListings::open(const std::string& path, const Meanwhile& meanwhile) -> Result<Listing> {
  if (auto known = recent(path)) return known;
  return listing_calls_.run(path,
                            [&](const auto& call) { return begin_listing(path, meanwhile, call); });
}

bool RemoteListings::is_worth_listing(const std::string& path) {
  if (!store_.objects().looks_up_names()) return true;
  const auto now = Clock::now();
  return looked_up_.with([&](auto& by_path) {
    if (by_path.size() >= kMaxListings) by_path.clear();
    auto& known = by_path[path];
    // A program that looks at one name of a directory often looks at no other.
    const bool is_first = known.fresh_until < now;
    if (is_first) known.fresh_until = age_.fresh_until(now);
    return !is_first && !known.is_large;
  });
}

auto RemoteListings::list_for(const std::string& path, const std::vector<std::string>& names)
    -> Result<Listing> {
  const auto covers_all = [&](const Listing& listing) {
    return std::ranges::all_of(names, [&](const auto& name) { return listing->covers(name); });
  };
  if (auto known = recent(path); known && covers_all(known)) return known;
  auto recalled = recall(path, names);
  if (!recalled.unknown.empty() && is_worth_listing(path)) {
    // Nobody knows yet whether the page has the names.
    std::optional<Result<Listing>> looked_up;
    FRAMEFS_TRY(auto listing, open(path, [&] {
                  if (store_.objects().looks_up_names()) looked_up = look_up(path, recalled);
                }));
    if (covers_all(listing)) return listing;
    looked_up_.with([&](auto& by_path) { by_path[path].is_large = true; });
    if (looked_up) return std::move(*looked_up);
  }
  return look_up(path, std::move(recalled));
}

void RemoteListings::note_left_out(const std::string& path, const net::LeftOut& unnameable,
                                   const net::LeftOut& covered) {
  if (unnameable.count + covered.count == 0) return;
  const bool is_first = noted_.with(
      [&](auto& noted) { return noted.size() < kMaxListings && noted.insert(path).second; });
  if (!is_first) return;
  store_.stats().add_hidden_entries(unnameable.count + covered.count);
  const auto directory = store_.name_of(path);
  if (unnameable.count > 0) {
    log_.warn(left_out_text(directory, unnameable, "no file can have such a name"));
  }
  if (covered.count > 0) {
    log_.warn(left_out_text(directory, covered, "a directory has the same name"));
  }
}

auto RemoteListings::begin_listing(const std::string& path, const Meanwhile& meanwhile,
                                   const ListingCalls::Call& call) -> Result<Listing> {
  // Another call may have ended just before this one began.
  if (auto known = recent(path)) return known;
  auto listing = std::make_shared<RemoteListing>(
      store_.listing_server(), path, age_,
      RemoteListing::Report{
          .complete = [this, path](
                          const auto& unnameable,
                          const auto& covered) { note_left_out(path, unnameable, covered); },
          .failed = [this,
                     path](const Error& error) { log_.failure(store_.name_of(path), error); }});
  listing->start_ahead();
  meanwhile();
  FRAMEFS_CHECK(listing->begin());
  for (const auto& entry : listing->take_heads()) {
    probes_.learn(net::join_path(path, entry.name), entry);
  }
  drop_old(path);
  const bool is_full =
      listings_->with([](const auto& by_path) { return by_path.size() >= kMaxListings; });
  if (is_full) drop_oldest(*listings_);
  Listing before;  // destroyed after the lock
  listings_->with([&](auto& by_path) {
    if (call.is_outdated()) return;
    before = std::exchange(by_path[path], listing);
  });
  const bool is_repeated = listed_.with([&](auto& listed) {
    if (listed.size() >= kMaxListings) listed.clear();
    return !listed.insert(path).second;
  });
  if (is_repeated) store_.stats().add_repeated_listing();
  return listing;
}

auto RemoteListings::recall(const std::string& path, const std::vector<std::string>& names) const
    -> Recalled {
  const auto now = Clock::now();
  Recalled recalled{.entries = {}, .unknown = {}, .taken = now};
  names_.with([&](const auto& known_names) {
    for (const auto& name : names) {
      const auto known = known_names.find(net::join_path(path, name));
      if (known == known_names.end() || known->second.fresh_until < now) {
        recalled.unknown.push_back(name);
        continue;
      }
      recalled.taken = std::min(recalled.taken, known->second.taken);
      if (known->second.entry) recalled.entries.push_back(*known->second.entry);
    }
  });
  return recalled;
}

auto RemoteListings::look_up(const std::string& path, Recalled recalled) -> Result<Listing> {
  const auto begin = Clock::now();
  auto& [entries, unknown, taken] = recalled;
  if (!unknown.empty()) {
    FRAMEFS_TRY(const auto found, store_.objects().look_up(path, unknown));
    const auto fresh_until = age_.fresh_until(begin);
    names_.with([&](auto& known_names) {
      if (known_names.size() + unknown.size() > kMaxNames) known_names.clear();
      for (const auto& name : unknown) {
        KnownName known{.entry = {}, .taken = begin, .fresh_until = fresh_until};
        const auto entry = std::ranges::find(found, name, &net::RemoteEntry::name);
        if (entry != found.end()) known.entry = *entry;
        known_names.insert_or_assign(net::join_path(path, name), std::move(known));
      }
    });
    looked_up_.with([&](auto& by_path) { by_path[path].fresh_until = fresh_until; });
    entries.insert(entries.end(), found.begin(), found.end());
  }
  return std::make_shared<RemoteListing>(entries, taken, age_.fresh_until(begin));
}

void RemoteListings::forget(const std::string& path) {
  // In this order, a call under way cannot keep its listing afterwards.
  listing_calls_.leave(path);
  Listing dropped;  // destroyed after the lock
  listings_->with([&](auto& by_path) {
    const auto known = by_path.find(path);
    if (known == by_path.end()) return;
    dropped = std::move(known->second);
    by_path.erase(known);
  });
  names_.with([&](auto& known) {
    std::erase_if(known, [&](const auto& name) { return directory_part(name.first) == path; });
  });
}

Result<RemoteListings::Listing> RemoteListings::list_single(const std::string& name) {
  FRAMEFS_TRY(auto entry, store_.objects().stat(""));
  if (entry.is_directory) return system_error_of(ENOENT, "remote object");
  entry.name = name;
  const auto now = Clock::now();
  return std::make_shared<RemoteListing>(std::vector{std::move(entry)}, now, now);
}

}  // namespace framefs::fs
