#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/guarded.h"
#include "fs/net/manifest.h"
#include "fs/net/object_store.h"
#include "fs/net/request_queue.h"

namespace framefs::net {

// A folder, or one file, of a web server.  The list of a folder comes from the server's own
// listing, from WebDAV, or from a manifest in the root (manifest.h).
class WebStore final : public ObjectStore {
 public:
  enum class Listing { page, dav };

  // Lifetime: `queue` outlives it.
  WebStore(RequestQueue& queue, Url root, Listing listing);

  Result<std::vector<RemoteEntry>> list(const std::string& folder) override;
  Result<RemoteEntry> stat(const std::string& path) override;
  void start_open(const std::string& path, const OpenRequest& open, OpenDone done) override;

 private:
  using Adjust = std::function<void(HttpRequest&)>;
  using Check = std::function<Verdict(const HttpAnswer&)>;
  using Manifest = std::shared_ptr<const std::vector<ManifestFile>>;
  struct CallState;

  // `place` holds the final URL of an earlier call.  The new call starts there and updates it.
  // In all functions, a `path` of "" is the root itself.
  Call make_call(RequestKind kind, Url url, Adjust adjust, Check check,
                 std::shared_ptr<fs::Guarded<Url>> place = nullptr);
  static Verdict judge_redirect(const HttpAnswer& answer, CallState& state);
  [[nodiscard]] Url url_of(const std::string& path) const;
  [[nodiscard]] Url folder_url_of(const std::string& path) const;
  Result<std::vector<RemoteEntry>> list_page(const std::string& folder);
  Result<std::vector<RemoteEntry>> propfind(const Url& url, const char* depth);
  Result<RemoteEntry> stat_page(const std::string& path);
  Result<Manifest> manifest();

  // Constant after construction.
  RequestQueue& queue_;
  const Url root_;
  const Listing listing_;
  // Guarded.
  fs::Guarded<Manifest> manifest_;
};

}  // namespace framefs::net
