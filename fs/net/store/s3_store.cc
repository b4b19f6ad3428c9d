#include "fs/net/store/s3_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/http/answer_check.h"
#include "fs/net/http/percent.h"
#include "fs/net/http/timestamp.h"
#include "fs/net/store/object_open.h"
#include "fs/net/store/s3_listing.h"

namespace framefs::net {
namespace {

// The number of times that a call follows the server's corrections of region and time.
constexpr int kMaxHops = 4;
// More keys than a name has suffixes of frames, as objects and as directories.
constexpr const char* kSuffixKeys = "32";
// As many keys of the longest kind take half of that.
constexpr std::uint64_t kMaxFewKeysBytes = 256 << 10;

// Names with dots or capitals cannot be part of a host name, because no certificate of AWS matches.
bool fits_host_name(std::string_view bucket) {
  return std::ranges::all_of(
      bucket, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

// A region becomes a part of a header and of a host name.  The servers of others than AWS have
// regions with capitals.
bool is_region(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

Verdict check_found(const HttpAnswer& answer) {
  return answer.status == 200 ? Verdict{} : verdict_of_status(answer.status);
}

std::string aws_host(std::string_view region) {
  std::string host = "s3.";
  host.append(region).append(".amazonaws.com");
  return region.starts_with("cn-") ? host + ".cn" : host;
}

}  // namespace

// The name of a call in the log.
std::string S3Store::call_name(const std::string& bucket, const Target& target) {
  if (!target.key.empty()) return target.method + " " + bucket + "/" + target.key;
  const auto prefix = std::ranges::find(target.query, "prefix", &QueryParameter::first);
  return "LIST " + bucket + "/" + (prefix == target.query.end() ? "" : prefix->second);
}

struct S3Store::CallState {
  // The facts that a call has learned so far.
  struct Learned {
    std::string access_key;
    int hops = 0;
    bool is_clock_set = false;
  };
  fs::Guarded<Learned> learned;
};

Result<std::unique_ptr<S3Store>> S3Store::make(RequestQueue& queue, CredentialKeeper& keeper,
                                               ServerClock& clock, Settings settings) {
  Url endpoint;
  if (settings.endpoint.empty()) {
    endpoint.scheme = "https";
    endpoint.host = aws_host(settings.region);
  } else {
    const bool has_scheme = settings.endpoint.find("://") != std::string::npos;
    FRAMEFS_TRY(endpoint, parse_url((has_scheme ? "" : "https://") + settings.endpoint));
    while (endpoint.path.ends_with('/')) endpoint.path.pop_back();
  }
  while (settings.prefix.ends_with('/')) settings.prefix.pop_back();
  return std::unique_ptr<S3Store>(
      new S3Store(queue, keeper, clock, std::move(settings), std::move(endpoint)));
}

S3Store::S3Store(RequestQueue& queue, CredentialKeeper& keeper, ServerClock& clock,
                 Settings settings, Url endpoint)
    : queue_(queue),
      keeper_(keeper),
      clock_(clock),
      settings_(std::move(settings)),
      endpoint_(std::move(endpoint)),
      is_path_style_(!settings_.endpoint.empty() || !fits_host_name(settings_.bucket)),
      region_(std::in_place, settings_.region) {}

std::string S3Store::key_of(const std::string& path) const {
  return settings_.prefix.empty() || path.empty() ? settings_.prefix + path
                                                  : settings_.prefix + "/" + path;
}

std::string S3Store::name() const {
  return "s3:" + (settings_.endpoint.empty() ? "aws" : endpoint_.text()) + "/" + settings_.bucket;
}

Url S3Store::url_of(const Target& target, std::string_view region) const {
  Url url = endpoint_;
  if (settings_.endpoint.empty()) url.host = aws_host(region);
  if (settings_.endpoint.empty()) url.path.clear();
  if (is_path_style_) {
    url.path += "/" + percent_encode(settings_.bucket, Slashes::encoded);
  } else {
    url.host = settings_.bucket + "." + url.host;
  }
  url.path += "/" + percent_encode(target.key, Slashes::kept);
  if (is_path_style_ && target.key.empty()) url.path.pop_back();
  url.query = canonical_query(target.query);
  return url;
}

Result<HttpRequest> S3Store::make_request(const Target& target, const Adjust& adjust,
                                          CallState& state) {
  FRAMEFS_TRY(const auto credentials, keeper_.current());
  const auto region = region_.with([](const std::string& value) { return value; });
  HttpRequest request;
  request.method = target.method;
  request.url = url_of(target, region);
  if (adjust) adjust(request);
  // Source: Amazon S3 User Guide, "Using Requester Pays buckets".
  if (settings_.requester_pays) request.headers.set("x-amz-request-payer", "requester");
  sign_request(request, credentials, {region, "s3", clock_.now()});
  state.learned.with([&](auto& learned) { learned.access_key = credentials.access_key; });
  return request;
}

Call S3Store::make_call(RequestKind kind, Target target, Adjust adjust, Check check) {
  const auto state = std::make_shared<CallState>();
  const auto shared_target = std::make_shared<const Target>(std::move(target));
  Call call;
  call.kind = kind;
  call.name = call_name(settings_.bucket, *shared_target);
  call.make = [this, state, shared_target, adjust = std::move(adjust)] {
    return make_request(*shared_target, adjust, *state);
  };
  call.judge = [this, state, check = std::move(check)](const HttpAnswer& answer) {
    auto verdict = check(answer);
    const bool is_error =
        answer.status >= 300 && verdict.kind != Verdict::Kind::done && verdict.error.sys != ESTALE;
    return is_error ? judge_error(answer, *state) : verdict;
  };
  return call;
}

Verdict S3Store::judge_skew(const HttpAnswer& answer, CallState& state) {
  const auto date = parse_http_date(answer.headers.find("date").value_or(""));
  const bool is_first =
      state.learned.with([](auto& learned) { return !std::exchange(learned.is_clock_set, true); });
  if (!date || !is_first) return failed_with(EACCES, "S3: the clocks differ too much");
  clock_.set(*date);
  return {Verdict::Kind::again, fs::system_error_of(EACCES, "S3: clock").error()};
}

Verdict S3Store::judge_region(const HttpAnswer& answer, const std::string& region,
                              CallState& state) {
  const auto wanted = std::string(answer.headers.find("x-amz-bucket-region").value_or(region));
  if (!is_region(wanted)) return failed_with(EIO, "S3: invalid region");
  const bool is_new = region_.with([&](std::string& value) {
    if (wanted.empty() || wanted == value) return false;
    value = wanted;
    return true;
  });
  const int hops = state.learned.with([](auto& learned) { return ++learned.hops; });
  if ((!is_new && wanted.empty()) || hops > kMaxHops) {
    return failed_with(EIO, "S3: redirected to another server");
  }
  return {Verdict::Kind::again, fs::system_error_of(EIO, "S3: region").error()};
}

Verdict S3Store::judge_error(const HttpAnswer& answer, CallState& state) {
  const auto error = parse_s3_error(answer.text());
  auto verdict = judge_code(answer, error, state);
  verdict.detail = error.code;
  if (!error.message.empty()) verdict.detail += " (" + error.message + ")";
  return verdict;
}

Verdict S3Store::judge_code(const HttpAnswer& answer, const S3Error& error, CallState& state) {
  const auto& code = error.code;
  // The answer to a HEAD has no body, and hence no error code.
  if (code == "RequestTimeTooSkewed") return judge_skew(answer, state);
  const bool may_be_region = answer.status == 301 || answer.status == 307 ||
                             code == "AuthorizationHeaderMalformed" ||
                             answer.headers.find("x-amz-bucket-region").has_value();
  if (may_be_region && (answer.status < 400 || answer.status == 400)) {
    return judge_region(answer, error.region, state);
  }
  constexpr std::array kRefreshable{"ExpiredToken", "ExpiredTokenException", "InvalidToken",
                                    "InvalidAccessKeyId", "TokenRefreshRequired"};
  if (std::ranges::find(kRefreshable, code) != kRefreshable.end()) {
    keeper_.refuse(state.learned.with([](const auto& learned) { return learned.access_key; }));
    const bool is_expiry = code.starts_with("Expired") && keeper_.can_refresh();
    return {is_expiry ? Verdict::Kind::retry : Verdict::Kind::doubtful,
            fs::refusal(EACCES, "S3: credentials expired or unknown").error()};
  }
  if (code == "RequestTimeout") return verdict_of_status(408);
  if (code == "SlowDown") return verdict_of_status(503);
  if (code == "InvalidObjectState") return failed_with(EACCES, "S3: object is archived");
  if (code == "SignatureDoesNotMatch") return failed_with(EACCES, "S3: signature refused");
  return verdict_of_status(answer.status);
}

Call S3Store::list_call(const std::string& prefix, const std::string& continuation,
                        const char* max_keys, Adjust adjust) {
  Target target;
  target.query = {{"list-type", "2"},
                  {"delimiter", "/"},
                  {"encoding-type", "url"},
                  {"max-keys", max_keys},
                  {"prefix", prefix}};
  if (!continuation.empty()) target.query.emplace_back("continuation-token", continuation);
  return make_call(RequestKind::list, std::move(target), std::move(adjust), &check_found);
}

Call S3Store::list_few_call(const std::string& prefix, const char* max_keys) {
  return list_call(prefix, "", max_keys,
                   [](HttpRequest& request) { request.max_body_bytes = kMaxFewKeysBytes; });
}

Call S3Store::head_call(const std::string& key) {
  return make_call(RequestKind::head, {"HEAD", key, {}}, nullptr, &check_found);
}

Result<std::vector<HttpAnswer>> S3Store::run_all(std::vector<Call> calls) {
  struct Answers {
    std::size_t left = 0;
    std::vector<HttpAnswer> answers;
    std::optional<Error> error;
  };
  const auto landed = std::make_shared<fs::Guarded<Answers>>();
  landed->with([&](Answers& all) {
    all.left = calls.size();
    all.answers.resize(calls.size());
  });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    queue_.start(std::move(calls[i]), [landed, i](Result<HttpAnswer> answer) {
      landed->with_and_wake([&](Answers& all) {
        --all.left;
        if (answer) {
          all.answers[i] = std::move(*answer);
        } else {
          all.error = answer.error();
        }
      });
    });
  }
  auto all = landed->wait_unless(
      fs::interrupted, [](const Answers& value) { return value.left == 0; },
      [](Answers& value) -> std::optional<Answers> {
        if (value.left > 0) return std::nullopt;
        return std::exchange(value, {});
      });
  if (!all) return fs::system_error_of(EINTR, "S3 requests");
  if (all->error) return std::unexpected(*all->error);
  return std::move(all->answers);
}

Result<bool> S3Store::look_up_together(const std::string& folder,
                                       const std::vector<std::string>& begins,
                                       const std::vector<std::string>& names,
                                       std::vector<RemoteEntry>& entries) {
  const auto base = key_of(folder);
  const auto prefix = base.empty() ? "" : base + "/";
  std::vector<Call> calls;
  for (const auto& begin : begins) calls.push_back(list_few_call(prefix + begin, kSuffixKeys));
  for (const auto& name : names) {
    auto head = head_call(prefix + name);
    // These statuses are facts about the key; see below.
    head.judge = [judge = std::move(head.judge)](const HttpAnswer& answer) {
      const bool is_fact = answer.status == 403 || answer.status == 404 || answer.status == 405;
      return is_fact ? Verdict{} : judge(answer);
    };
    calls.push_back(std::move(head));
    calls.push_back(list_few_call(prefix + name + "/", kFewKeys));
  }
  FRAMEFS_TRY(const auto answers, run_all(std::move(calls)));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (i < begins.size()) {
      FRAMEFS_TRY(auto page, parse_s3_listing(answers[i].text(), prefix));
      if (!page.continuation.empty()) return false;
      std::ranges::move(page.entries, std::back_inserter(entries));
      continue;
    }
    const auto& name = names[(i - begins.size()) / 2];
    const bool is_head = (i - begins.size()) % 2 == 0;
    if (is_head && answers[i].status == 404) continue;
    if (is_head && answers[i].status == 200) {
      entries.push_back(entry_of_head_answer(answers[i]));
      entries.back().name = name;
      continue;
    }
    // Of a key whose HEAD is refused, the listing knows as much.  It comes before all other keys
    // that begin with it.
    HttpAnswer list = answers[i];
    if (is_head) {
      FRAMEFS_TRY(list, list_few(prefix + name));
    }
    FRAMEFS_TRY(auto page, parse_s3_listing(list.text(), prefix));
    if (!is_head && (page.has_keys || !page.entries.empty())) {
      entries.push_back({.name = name, .is_directory = true, .etag = {}});
    }
    for (auto& entry : page.entries) {
      if (is_head && entry.name == name) entries.push_back(std::move(entry));
    }
  }
  return true;
}

Result<std::vector<RemoteEntry>> S3Store::look_up(const std::string& folder,
                                                  const std::vector<std::string>& names) {
  // The suffixes of all kinds of frames begin like this.
  constexpr std::string_view kSuffix = ".b2";
  std::vector<std::string> begins;
  std::vector<std::string> others;
  for (const auto& name : names) {
    const auto at = name.rfind(kSuffix);
    const auto begin = at == name.npos ? "" : name.substr(0, at + kSuffix.size());
    if (begin.empty()) {
      others.push_back(name);
    } else if (std::ranges::find(begins, begin) == begins.end()) {
      begins.push_back(begin);
    }
  }
  std::vector<RemoteEntry> entries;
  FRAMEFS_TRY(const bool is_complete, look_up_together(folder, begins, others, entries));
  if (!is_complete) {
    // Other keys have such names.
    entries.clear();
    FRAMEFS_CHECK(look_up_together(folder, {}, names, entries));
  }
  std::erase_if(entries, [&](const RemoteEntry& entry) {
    return std::ranges::find(names, entry.name) == names.end();
  });
  return tidy_listing(entries).entries;
}

Result<RemoteEntry> S3Store::stat(const std::string& path) {
  const auto key = key_of(path);
  // If an object and a folder have the same name, users see the folder.
  const auto prefix = key.empty() ? "" : key + "/";
  FRAMEFS_TRY(const auto listing, list_few(prefix));
  FRAMEFS_TRY(const auto page, parse_s3_listing(listing.text(), prefix));
  // A key that ends in a slash marks a folder with nothing else in it.
  if (key.empty() || !page.entries.empty() || page.has_keys) {
    RemoteEntry folder_entry;
    folder_entry.name = path;
    folder_entry.is_directory = true;
    return folder_entry;
  }
  FRAMEFS_TRY(const auto answer, queue_.run(head_call(key)));
  auto entry = entry_of_head_answer(answer);
  entry.name = path;
  return entry;
}

void S3Store::start_open(const std::string& path, const OpenRequest& open, OpenDone done) {
  const auto key = key_of(path);
  auto get = [this, key](Adjust adjust, Check check) {
    return make_call(RequestKind::get, {"GET", key, {}}, std::move(adjust), std::move(check));
  };
  net::start_open(queue_, std::move(get), name(), key, open, std::move(done));
}

}  // namespace framefs::net
