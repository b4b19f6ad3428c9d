#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "fs/net/http/request_queue.h"
#include "fs/net/store/manifest_table.h"
#include "fs/net/store/object_open.h"
#include "fs/net/store/object_store.h"

namespace framefs::net {

// A folder, or one file, of a web server.  The list of a folder comes from WebDAV or from the
// server's own listing.  If the server refuses to list a folder, the list comes from the manifest
// in the root (manifest.h).  If the server does not list the root, all lists come from the
// manifest.
class WebStore final : public ObjectStore {
 public:
  enum class Listing : std::uint8_t { page, dav };

  // Lifetime: `queue` outlives it.
  WebStore(RequestQueue& queue, Url root, Listing listing);

  // A listing is one page.
  std::unique_ptr<PageRequest> start_page(const std::string& folder,
                                          const std::string& continuation,
                                          PageCharge charge) override;
  Result<RemoteEntry> stat(const std::string& path) override;
  void start_open(const std::string& path, const OpenRequest& open, OpenDone done) override;

 private:
  using Manifest = std::shared_ptr<const ManifestTable>;
  // The manifest as the server sent it last.
  struct KnownManifest {
    Manifest files;  // null if there is none
    // The validators of the answer, as the server writes them.
    std::string etag;
    std::string last_modified;
    std::chrono::steady_clock::time_point
        checked;              // the server said then that it is the present one
    bool is_listing = false;  // the server does not list the root
  };
  struct CallState;

  // `place` holds the final URL of an earlier call.  The new call starts there and updates it.
  // In all functions, a `path` of "" is the root itself.
  static Call make_call(RequestKind kind, Url url, Adjust adjust, Check check,
                        std::shared_ptr<fs::Guarded<Url>> place = nullptr);
  static Verdict judge(const HttpAnswer& answer, const Check& check, CallState& state);
  static Verdict judge_redirect(const HttpAnswer& answer, CallState& state);
  [[nodiscard]] Url url_of(const std::string& path) const;
  [[nodiscard]] Url folder_url_of(const std::string& path) const;
  // Takes the entries of a page of links or of JSON.
  Status list_page(const std::string& folder, ListingBudget::Charge body, const TakeEntry& take);
  Status propfind(const Url& url, const char* depth, ListingBudget::Charge body,
                  const TakeEntry& take);
  Result<RemoteEntry> stat_page(const std::string& path);
  // The same after a HEAD was refused by `refusal`.
  Result<RemoteEntry> stat_by_get(const std::string& path, const Error& refusal);
  // Opens the object at the URL that `place` holds, and updates it.
  void start_open_at(const std::string& path, const std::shared_ptr<fs::Guarded<Url>>& place,
                     const OpenRequest& open, OpenDone done);
  Result<ListedPage> list_dav(const std::string& folder, PageCharge charge);
  Result<ListedPage> list_web(const std::string& folder, PageCharge charge);
  // The manifest as it was `max_age` ago or later.  Its text and its table grow from `charge`.
  Result<Manifest> manifest(std::chrono::seconds max_age, PageCharge charge);

  // Constant after construction.
  RequestQueue& queue_;
  const Url root_;
  const Listing listing_;
  // Guarded.
  fs::Guarded<KnownManifest> manifest_;
  // One at a time: a manifest is large.
  fs::Guarded<bool> is_manifest_fetched_{std::in_place, false};
  // The server supports no HEAD.  Relaxed: only a hint.
  std::atomic<bool> refuses_head_ = false;
};

}  // namespace framefs::net
