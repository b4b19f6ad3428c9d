#include "fs/remote/remote_listing.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "fs/core/threads/interrupt.h"
#include "fs/source/suffixes.h"

namespace framefs::fs {
namespace {

// The byte behind the slash.
constexpr char kBehindSlash = '/' + 1;

// The part of a name that it shares with the entries that can change how it is shown.
std::string_view stem_of_group(std::string_view name) {
  for (const auto& suffix : kSuffixes) {
    if (name.ends_with(suffix.text) && name.size() > suffix.text.size()) {
      return name.substr(0, name.size() - suffix.text.size());
    }
  }
  return name;
}

std::string settling_key(const net::EntryTable& table) {
  std::string last;
  for (std::size_t i = 0; i < table.size(); ++i) {
    auto key = std::string(stem_of_group(table.name(i))) + kBehindSlash;
    last = std::max(last, key);
    // A stem is shorter than its name, but need not come later.
    key = std::string(table.name(i)) + kBehindSlash;
    last = std::max(last, key);
  }
  return last;
}

net::EntryPlace last_place(const RemoteListing::Page& page) {
  return page->table.place(page->table.size() - 1);
}

}  // namespace

RemoteListing::RemoteListing(const Server& server, std::string path, const ListingAge& age,
                             Report report)
    : server_(server),
      path_(std::move(path)),
      age_(age),
      report_(std::move(report)),
      taken_(Clock::now()) {
  state_.with([&](State& state) {
    state.is_unsorted = server.is_unsorted.load(std::memory_order_relaxed);
  });
}

RemoteListing::RemoteListing(const std::vector<net::RemoteEntry>& entries, Clock::time_point taken,
                             Clock::time_point fresh_until)
    : taken_(taken), fresh_until_(fresh_until) {
  net::EntryTableBuilder builder({});
  for (const auto& entry : entries) static_cast<void>(builder.add(entry));
  static_cast<void>(add(builder.finish()));
}

bool RemoteListing::State::is_settled(const RemotePage& page) const {
  if (is_complete) return true;
  const net::EntryPlace end{page.settles_at, false};
  return !is_unsorted && !pages.empty() && last_place(pages.back()) >= end;
}

const RemoteListing::Page& RemoteListing::State::page_at(std::size_t position) const {
  const auto after = std::ranges::upper_bound(pages, position, {}, &RemotePage::first);
  return *std::prev(after);
}

auto RemoteListing::State::find(const net::EntryPlace& place) const -> std::optional<Place> {
  const auto look_in = [&](const Page& page) -> std::optional<Place> {
    const auto index = page->table.find(place);
    if (!index) return std::nullopt;
    return Place{Place::Kind::entry, page, *index};
  };
  if (is_unsorted && !is_complete) {
    for (const auto& page : pages) {
      if (auto found = look_in(page)) return found;
    }
    return std::nullopt;
  }
  const auto after = std::ranges::upper_bound(
      pages, place, {}, [](const Page& page) { return page->table.place(0); });
  if (after == pages.begin()) return std::nullopt;
  return look_in(*std::prev(after));
}

bool RemoteListing::is_complete() const {
  return state_.with([](const State& state) { return state.is_complete; });
}

bool RemoteListing::has_failed() const {
  return state_.with([](const State& state) { return state.error.has_value(); });
}

std::optional<net::RemoteEntry> RemoteListing::find(std::string_view name) const {
  return state_.with([&](const State& state) -> std::optional<net::RemoteEntry> {
    auto found = state.find({name, true});
    if (!found) found = state.find({name, false});
    if (!found) return std::nullopt;
    return found->page->table.entry(found->index);
  });
}

bool RemoteListing::covers(std::string_view name) const {
  return state_.with([&](const State& state) {
    if (state.is_complete) return true;
    const net::EntryPlace last{name, true};
    return !state.is_unsorted && !state.pages.empty() && last_place(state.pages.back()) >= last;
  });
}

std::vector<RemoteListing::Page> RemoteListing::pages() const {
  return state_.with([](const State& state) { return state.pages; });
}

std::vector<net::RemoteEntry> RemoteListing::take_heads() {
  return state_.with([](State& state) { return std::exchange(state.heads, {}); });
}

std::unique_ptr<net::PageRequest> RemoteListing::request_page(const std::string& continuation,
                                                              net::PageCharge charge) const {
  return server_->objects.start_page(path_, continuation, std::move(charge));
}

Result<net::ListedPage> RemoteListing::fetch(std::unique_ptr<net::PageRequest>& request,
                                             const std::string& continuation, bool is_first) {
  auto& budget = server_->budget;
  if (!request) request = request_page(continuation, {budget.charge(), budget.charge()});
  auto page = request->wait();
  if (page || !net::is_over_budget(page.error())) return page;
  // Another try has room before it begins.  While this thread waits, it holds the pages before.
  constexpr std::uint64_t kTableBytes = 96 << 20;
  constexpr std::chrono::seconds kMaxWait{60};
  constexpr std::chrono::seconds kMaxWaitWithPages{10};
  request = nullptr;
  FRAMEFS_TRY(auto table, budget.reserve(net::kMaxListingBodyBytes + kTableBytes,
                                         is_first ? kMaxWait : kMaxWaitWithPages));
  auto body = table.split(net::kMaxListingBodyBytes);
  request = request_page(continuation, {std::move(body), std::move(table)});
  return request->wait();
}

Status RemoteListing::advance(std::size_t known) {
  struct Turn {
    std::optional<Error> error;
    bool is_mine = false;
    std::unique_ptr<net::PageRequest> request;
    std::string continuation;
    bool is_first = false;
  };
  const auto is_past = [known](const State& state) {
    return state.is_over() || state.pages.size() > known;
  };
  auto turn = state_.wait_unless(
      interrupted, [&](const State& state) { return is_past(state) || !state.is_fetching; },
      [&](State& state) {
        Turn now;
        if (state.pages.size() <= known) now.error = state.error;
        if (is_past(state)) return now;
        if (state.is_fetching) {
          now.error = system_error_of(EINTR, "remote listing").error();
          return now;
        }
        state.is_fetching = now.is_mine = true;
        now.request = std::move(state.request);
        now.continuation = state.continuation;
        now.is_first = state.pages.empty();
        return now;
      });
  if (turn.error) return std::unexpected(*turn.error);
  if (!turn.is_mine) return {};
  // Hands the turn on, also if memory runs out.
  struct End {
    Guarded<State>& state;
    Turn& turn;
    ~End() {
      state.with_and_wake([&](State& now) {
        now.is_fetching = false;
        now.request = std::move(turn.request);
      });
    }
  };
  const auto status = [&]() -> Status {
    const End end{state_, turn};
    auto page = fetch(turn.request, turn.continuation, turn.is_first);
    if (!page && page.error().sys == EINTR) return std::unexpected(page.error());
    turn.request = nullptr;
    const auto added = page ? add(std::move(*page)) : std::unexpected(page.error());
    if (!added) state_.with([&](State& state) { state.error = added.error(); });
    return added;
  }();
  report_end(status);
  return status;
}

void RemoteListing::report_end(const Status& last) const {
  struct End {
    bool is_complete;
    bool has_pages;
    net::LeftOut unnameable;
    net::LeftOut covered;
  };
  const auto end = state_.with([](const State& state) {
    return End{state.is_complete, !state.pages.empty(), state.unnameable, state.covered};
  });
  if (end.is_complete && report_.complete) report_.complete(end.unnameable, end.covered);
  const bool has_failed = !last && last.error().sys != EINTR;
  if (has_failed && end.has_pages && report_.failed) report_.failed(last.error());
}

Status RemoteListing::add(net::ListedPage listed) {
  const bool is_last = listed.continuation.empty();
  const auto appended = state_.with([&](State& state) { return append(state, listed); });
  const bool is_unsorted = state_.with([](const State& state) { return state.is_unsorted; });
  // Also after the error: the next listing must begin with this knowledge.
  if (is_unsorted && server_) server_->is_unsorted.store(true, std::memory_order_relaxed);
  FRAMEFS_CHECK(appended);
  if (is_unsorted && is_last) FRAMEFS_CHECK(merge());
  if (age_) fresh_until_.store(age_->fresh_until(taken_), std::memory_order_relaxed);
  state_.with([&](State& state) { state.is_complete = is_last; });
  return {};
}

Status RemoteListing::append(State& state, net::ListedPage& listed) const {
  FRAMEFS_CHECK(state.continuations.note(listed.continuation));
  const bool is_last = listed.continuation.empty();
  state.continuation = std::move(listed.continuation);
  state.unnameable.add(listed.unnameable);
  state.covered.add(listed.covered);
  std::ranges::move(listed.with_heads, std::back_inserter(state.heads));
  const auto& table = listed.table;
  if (table.size() > net::kMaxListingEntries - state.size) {
    return codec::fail(codec::Errc::over_limit, "listing");
  }
  if (table.empty()) return {};
  const bool is_next = state.pages.empty() || last_place(state.pages.back()) < table.place(0);
  state.is_unsorted = state.is_unsorted || !is_next;
  if (state.is_unsorted && state.is_shown) {
    return refusal(EIO, "the server does not list its keys in their order");
  }
  // A page that has an object and its directory has left out the object.
  const bool is_first = state.pages.empty() || state.is_unsorted;
  for (std::size_t i = 0; !is_first && i < table.size(); ++i) {
    const auto place = table.place(i);
    if (place.is_directory && state.find({place.name, false})) state.covered.add(place.name);
  }
  auto page = std::make_shared<RemotePage>();
  if (!is_last) page->settles_at = settling_key(table);
  page->table = std::move(listed.table);
  page->first = state.size;
  state.size += page->table.size();
  state.pages.push_back(std::move(page));
  return {};
}

Status RemoteListing::merge() {
  net::EntryTableBuilder builder(server_->budget.charge());
  for (const auto& page : pages()) {
    for (std::size_t i = 0; i < page->table.size(); ++i) {
      FRAMEFS_CHECK(builder.add(page->table.entry(i)));
    }
  }
  auto merged = builder.finish();
  auto page = std::make_shared<RemotePage>();
  page->table = std::move(merged.table);
  std::vector<Page> before;  // destroyed after the lock
  state_.with([&](State& state) {
    state.covered.add(merged.covered);
    state.size = page->table.size();
    before = std::exchange(state.pages, {});
    if (state.size > 0) state.pages.push_back(std::move(page));
  });
  return {};
}

Status RemoteListing::complete() {
  for (;;) {
    const auto [known, is_complete] = state_.with(
        [](const State& state) { return std::pair(state.pages.size(), state.is_complete); });
    if (is_complete) return {};
    if (interrupted()) return system_error_of(EINTR, "remote listing");
    FRAMEFS_CHECK(advance(known));
  }
}

// Sends the request for the page that a reader will need after the present one.
void RemoteListing::start_ahead() {
  const auto continuation = state_.with([](State& state) -> std::optional<std::string> {
    if (state.is_over() || state.is_fetching || state.request) return std::nullopt;
    state.is_fetching = true;
    return state.continuation;
  });
  if (!continuation) return;
  const auto& budget = server_->budget;
  auto request = request_page(*continuation, {budget.charge(), budget.charge()});
  state_.with_and_wake([&](State& state) {
    state.request = std::move(request);
    state.is_fetching = false;
  });
}

auto RemoteListing::at(std::size_t position, bool may_wait) -> Result<Place> {
  for (;;) {
    std::size_t known = 0;
    bool is_ahead_needed = false;
    const auto now = state_.with([&](State& state) -> Result<Place> {
      known = state.pages.size();
      const bool has_arrived = position < state.size;
      if (has_arrived && state.is_settled(*state.page_at(position))) {
        const auto& page = state.page_at(position);
        state.is_shown = true;
        is_ahead_needed = position == page->first;
        return Place{Place::Kind::entry, page, position - page->first};
      }
      if (state.is_complete) return Place{};
      if (state.error) return std::unexpected(*state.error);
      return Place{.kind = Place::Kind::later};
    });
    if (!now) return now;
    if (is_ahead_needed) start_ahead();
    if (now->kind != Place::Kind::later || !may_wait) return now;
    FRAMEFS_CHECK(advance(known));
  }
}

bool RemoteListing::is_covered(const Place& place) const {
  const auto& table = place.page->table;
  // Otherwise the page would have the directory itself.
  const net::EntryPlace folder{table.name(place.index), true};
  if (table.is_directory(place.index) || table.place(table.size() - 1) >= folder) return false;
  return state_.with([&](const State& state) { return state.find(folder).has_value(); });
}

}  // namespace framefs::fs
