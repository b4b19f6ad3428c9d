#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/net/store/object_store.h"
#include "fs/remote/listing_age.h"

namespace framefs::fs {

// The entries of a directory that have arrived together.
struct RemotePage {
  net::EntryTable table;
  std::size_t first = 0;  // the position of its first entry in the listing
  // When all keys below this one have arrived, no later key changes how an entry of this page is
  // shown.
  std::string settles_at;
  // Whether the entries that may be frames have been probed.
  mutable std::atomic<bool> is_probed = false;
};

// A directory of a remote SOURCE as the server lists it, page by page, in the order of keys.  The
// entries have positions, which stay.  Readers ask for pages as they need them; while one page is
// read, the next one is under way.
//
// A page can be shown when no later key changes its names: an object x is hidden by a directory x,
// and a frame x.b2frame is shown as x unless x or another frame of that stem exists.  Such keys
// begin with x and a dot or a slash.  If the server does not sort its keys, all of them must arrive
// first.
// Errors of all members that wait: those of net::ObjectStore; ENOMEM if the listings of the mount
// have no room; EINTR, after which the call can be repeated.  After any other error, the pages that
// have arrived can be read, and all further ones have the same error.
// Threads: any number.
class RemoteListing {
 public:
  using Clock = std::chrono::steady_clock;
  using Page = std::shared_ptr<const RemotePage>;
  // Told once about the end of a listing, by the thread that waits for its last page.
  struct Report {
    std::function<void(const net::LeftOut& unnameable, const net::LeftOut& covered)> complete;
    std::function<void(const Error& error)> failed;  // after some of the pages
  };

  // The parts of a store that all its listings share.
  struct Server {
    net::ObjectStore& objects;
    net::ListingBudget& budget;
    // The server has listed keys that were not in order.  Relaxed: only a hint.
    std::atomic<bool>& is_unsorted;
  };
  // Lifetime: `server` outlives it.
  RemoteListing(const Server& server, std::string path, const ListingAge& age, Report report);
  // A listing of these entries, which is complete for the names that were asked for.
  RemoteListing(const std::vector<net::RemoteEntry>& entries, Clock::time_point taken,
                Clock::time_point fresh_until);

  [[nodiscard]] Clock::time_point taken() const { return taken_; }
  // Relaxed: whoever sees an earlier time asks the server again.
  [[nodiscard]] Clock::time_point fresh_until() const {
    return fresh_until_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] bool has_failed() const;

  // Looks in the pages that have arrived.  If an object and a directory have the same name, finds
  // the directory.
  [[nodiscard]] std::optional<net::RemoteEntry> find(std::string_view name) const;
  // Whether find() knows all about this name.
  [[nodiscard]] bool covers(std::string_view name) const;

  // Asks for the next page, unless it is under way.  Does not wait.
  void start_ahead();
  // Waits for the first page.
  Status begin() { return advance(0); }
  // Waits for all pages.
  Status complete();

  struct Place {
    enum class Kind : std::uint8_t { entry, end, later } kind = Kind::end;
    Page page = nullptr;
    std::size_t index = 0;  // of the entry in the page
  };
  // The entry at a position, as soon as its page can be shown.  With `may_wait` unset, `later`
  // instead of waiting.
  Result<Place> at(std::size_t position, bool may_wait);
  // Whether the entry at a place is hidden by a directory of the same name.
  [[nodiscard]] bool is_covered(const Place& place) const;
  // All pages that have arrived.
  [[nodiscard]] std::vector<Page> pages() const;
  // The heads that the pages since the last call had.
  std::vector<net::RemoteEntry> take_heads();

  // The errors of probes that were made for this listing, by name.  An entry whose probe failed
  // cannot be opened now.
  Guarded<std::map<std::string, Error, std::less<>>> failed_probes;
  // The number of entries that were probed one by one.
  std::atomic<std::size_t> probed_alone = 0;

 private:
  struct State {
    std::vector<Page> pages;
    std::size_t size = 0;
    bool is_fetching = false;                   // by one thread
    std::unique_ptr<net::PageRequest> request;  // for the next page; null: not sent yet
    std::string continuation;
    net::Continuations continuations;
    bool is_complete = false;
    bool is_unsorted = false;
    bool is_shown = false;  // an entry has been given out
    std::optional<Error> error;
    net::LeftOut unnameable;
    net::LeftOut covered;
    std::vector<net::RemoteEntry> heads;

    [[nodiscard]] bool is_over() const { return is_complete || error.has_value(); }
    [[nodiscard]] bool is_settled(const RemotePage& page) const;
    [[nodiscard]] std::optional<Place> find(const net::EntryPlace& place) const;
    [[nodiscard]] const Page& page_at(std::size_t position) const;
  };

  // Waits until there are more than `known` pages, or there will be none.
  Status advance(std::size_t known);
  [[nodiscard]] std::unique_ptr<net::PageRequest> request_page(const std::string& continuation,
                                                               net::PageCharge charge) const;
  Result<net::ListedPage> fetch(std::unique_ptr<net::PageRequest>& request,
                                const std::string& continuation, bool is_first);
  // Adds a page to the listing.
  Status add(net::ListedPage listed);
  Status append(State& state, net::ListedPage& listed) const;
  // Puts all pages into one.
  Status merge();
  void report_end(const Status& last) const;

  const std::optional<Server> server_;  // nothing: the listing is complete
  const std::string path_;
  const std::optional<ListingAge> age_;
  const Report report_;
  const Clock::time_point taken_;
  std::atomic<Clock::time_point> fresh_until_{Clock::time_point()};
  Guarded<State> state_;
};

}  // namespace framefs::fs
