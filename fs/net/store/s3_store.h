#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fs/core/threads/guarded.h"
#include "fs/net/credentials/credential_keeper.h"
#include "fs/net/http/request_queue.h"
#include "fs/net/http/server_clock.h"
#include "fs/net/store/object_open.h"
#include "fs/net/store/object_store.h"
#include "fs/net/store/s3_listing.h"
#include "fs/net/store/sigv4.h"

namespace framefs::net {

// A bucket, below a prefix, of AWS or of any server with the same interface.
class S3Store final : public ObjectStore {
 public:
  struct Settings {
    std::string bucket;
    std::string prefix;  // "" or a path, without slashes at its ends
    std::string region = "us-east-1";
    std::string endpoint;  // URL of another server than AWS; "" for AWS
    // Agrees to pay for requests, which the owner of the bucket may demand.
    bool requester_pays = false;
  };
  // Lifetime: `queue`, `keeper` and `clock` outlive it.
  // Errors: bad_field.
  static Result<std::unique_ptr<S3Store>> make(RequestQueue& queue, CredentialKeeper& keeper,
                                               ServerClock& clock, Settings settings);

  std::unique_ptr<PageRequest> start_page(const std::string& folder,
                                          const std::string& continuation,
                                          PageCharge charge) override;
  Result<RemoteEntry> stat(const std::string& path) override;
  [[nodiscard]] bool looks_up_names() const override { return true; }
  // For each name without the suffix of a frame: HEAD, and a LIST of the keys below it.
  // For all names that differ in such a suffix only: one LIST.
  Result<std::vector<RemoteEntry>> look_up(const std::string& folder,
                                           const std::vector<std::string>& names) override;
  void start_open(const std::string& path, const OpenRequest& open, OpenDone done) override;

 private:
  // Parts of a request that do not change from attempt to attempt.
  struct Target {
    std::string method = "GET";
    std::string key;  // "" for the bucket
    std::vector<QueryParameter> query;
  };
  struct CallState;
  // Enough to know whether there is a key.  Some servers refuse to list a single one.
  static constexpr const char* kFewKeys = "2";

  S3Store(RequestQueue& queue, CredentialKeeper& keeper, ServerClock& clock, Settings settings,
          Url endpoint);
  [[nodiscard]] Url url_of(const Target& target, std::string_view region) const;
  [[nodiscard]] std::string key_of(const std::string& path) const;
  [[nodiscard]] std::string name() const;
  Call make_call(RequestKind kind, Target target, Adjust adjust, Check check);
  Result<HttpRequest> make_request(const Target& target, const Adjust& adjust, CallState& state);
  // Judges an error, and stores the facts that the next attempt needs in `state`.
  Verdict judge_error(const HttpAnswer& answer, CallState& state);
  Verdict judge_code(const HttpAnswer& answer, const S3Error& error, CallState& state);
  static std::string call_name(const std::string& bucket, const Target& target);
  Verdict judge_skew(const HttpAnswer& answer, CallState& state);
  Verdict judge_region(const HttpAnswer& answer, const std::string& region, CallState& state);
  Call list_call(const std::string& prefix, const std::string& continuation, const char* max_keys,
                 Adjust adjust);
  // A list of few keys.
  Call list_few_call(const std::string& prefix, const char* max_keys);
  Result<HttpAnswer> list_few(const std::string& prefix) {
    return queue_.run(list_few_call(prefix, kFewKeys));
  }
  Call head_call(const std::string& key);
  // Sends the calls at once.  Errors: that of one of them; EINTR.
  Result<std::vector<HttpAnswer>> run_all(std::vector<Call> calls);
  // Adds the entries whose names begin with one of `begins`, and those of `names`.  False if too
  // many names begin so.
  Result<bool> look_up_together(const std::string& folder, const std::vector<std::string>& begins,
                                const std::vector<std::string>& names,
                                std::vector<RemoteEntry>& entries);

  // Constant after construction.
  RequestQueue& queue_;
  CredentialKeeper& keeper_;
  ServerClock& clock_;
  const Settings settings_;
  const Url endpoint_;
  const bool is_path_style_;
  // Guarded.
  fs::Guarded<std::string> region_;  // as the server corrected it
};

}  // namespace framefs::net
