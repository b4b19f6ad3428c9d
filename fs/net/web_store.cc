#include "fs/net/web_store.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fs/core/file.h"
#include "fs/net/answer_check.h"
#include "fs/net/dav_listing.h"
#include "fs/net/open_answer.h"
#include "fs/net/percent.h"
#include "fs/net/web_listing.h"

namespace framefs::net {
namespace {

constexpr int kMaxRedirects = 5;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Verdict check_ok(const HttpAnswer& answer) {
  return answer.status == 200 ? Verdict{} : verdict_of_status(answer.status);
}

Verdict check_multistatus(const HttpAnswer& answer) {
  return answer.status == 207 ? Verdict{} : verdict_of_status(answer.status);
}

Url with_slash(Url url) {
  if (!url.path.ends_with('/')) url.path += '/';
  return url;
}

}  // namespace

// The redirections that a call has followed so far.
struct WebStore::CallState {
  struct Led {
    Url url;
    int redirects = 0;
    bool is_fallback = false;  // the call has gone back to its first URL
  };
  Url first;
  std::shared_ptr<fs::Guarded<Url>> place;
  fs::Guarded<Led> led;
};

WebStore::WebStore(RequestQueue& queue, Url root, Listing listing)
    : queue_(queue), root_(std::move(root)), listing_(listing) {}

Url WebStore::url_of(const std::string& path) const {
  if (path.empty()) return root_;
  auto url = with_slash(root_);
  url.path += percent_encode(path, Slashes::kept);
  return url;
}

Url WebStore::folder_url_of(const std::string& path) const { return with_slash(url_of(path)); }

Verdict WebStore::judge_redirect(const HttpAnswer& answer, CallState& state) {
  return state.led.with([&](CallState::Led& led) {
    const auto target = resolve_url(led.url, answer.headers.find("location").value_or(""));
    if (!target) return failed_with(EIO, "redirected to an invalid URL");
    if (led.url.scheme == "https" && target->scheme != "https") {
      return failed_with(EIO, "redirected from https to http");
    }
    if (++led.redirects > kMaxRedirects) return failed_with(EIO, "redirected too often");
    led.url = *target;
    return Verdict{Verdict::Kind::again, fs::system_error_of(EIO, "redirect").error()};
  });
}

Call WebStore::make_call(RequestKind kind, Url url, Adjust adjust, Check check,
                         std::shared_ptr<fs::Guarded<Url>> place) {
  const auto state = std::make_shared<CallState>();
  state->first = url;
  state->place = std::move(place);
  if (state->place) url = state->place->with([](const Url& known) { return known; });
  state->led.with([&](CallState::Led& led) { led.url = std::move(url); });
  Call call;
  call.kind = kind;
  call.make = [state, adjust = std::move(adjust)]() -> Result<HttpRequest> {
    HttpRequest request;
    request.url = state->led.with([](const CallState::Led& led) { return led.url; });
    adjust(request);
    return request;
  };
  call.judge = [state, check = std::move(check)](const HttpAnswer& answer) {
    if (is_redirect(answer.status)) return judge_redirect(answer, *state);
    const auto verdict = check(answer);
    const bool is_refused = answer.status == 401 || answer.status == 403 || answer.status == 404;
    return state->led.with([&](CallState::Led& led) {
      // An earlier redirection may have been temporary.
      if (is_refused && led.url != state->first && !std::exchange(led.is_fallback, true)) {
        led.url = state->first;
        return Verdict{Verdict::Kind::again, verdict.error};
      }
      if (verdict.kind == Verdict::Kind::done && state->place) {
        state->place->with([&](Url& known) { known = led.url; });
      }
      return verdict;
    });
  };
  return call;
}

auto WebStore::manifest() -> Result<Manifest> {
  if (auto known = manifest_.with([](const Manifest& value) { return value; })) return known;
  const auto answer = queue_.run(make_call(
      RequestKind::list, url_of(kManifestName),
      [](HttpRequest& request) { request.max_body_bytes = kMaxManifestBytes; }, &check_ok));
  if (!answer) return std::unexpected(answer.error());
  FRAMEFS_TRY(auto files, parse_manifest(answer->text()));
  auto parsed = std::make_shared<const std::vector<ManifestFile>>(std::move(files));
  manifest_.with([&](Manifest& value) { value = parsed; });
  return parsed;
}

Result<std::vector<RemoteEntry>> WebStore::list_page(const std::string& folder) {
  const auto url = folder_url_of(folder);
  const auto place = std::make_shared<fs::Guarded<Url>>(std::in_place, url);
  FRAMEFS_TRY(const auto answer, queue_.run(make_call(
                                     RequestKind::list, url,
                                     [](HttpRequest& request) {
                                       request.headers.add("accept", "application/json, text/html");
                                       request.max_body_bytes = 256 << 20;
                                     },
                                     &check_ok, place)));
  const auto type = answer.headers.find("content-type").value_or("");
  if (type.starts_with("application/json")) return parse_json_listing(answer.text());
  if (!type.starts_with("text/html"))
    return fs::refusal(ENOTDIR, "the server sends no listing of this directory");
  return parse_html_listing(answer.text(), place->with([](const Url& known) { return known; }));
}

Result<std::vector<RemoteEntry>> WebStore::propfind(const Url& url, const char* depth) {
  const auto place = std::make_shared<fs::Guarded<Url>>(std::in_place, url);
  FRAMEFS_TRY(const auto answer, queue_.run(make_call(
                                     RequestKind::list, url,
                                     [depth](HttpRequest& request) {
                                       request.method = "PROPFIND";
                                       request.headers.add("depth", depth);
                                       request.headers.add("content-type",
                                                           "application/xml; charset=utf-8");
                                       request.body = kPropfindBody;
                                       request.max_body_bytes = 256 << 20;
                                     },
                                     &check_multistatus, place)));
  return parse_dav_listing(answer.text(), place->with([](const Url& known) { return known; }));
}

Result<std::vector<RemoteEntry>> WebStore::list(const std::string& folder) {
  if (listing_ == Listing::dav) {
    FRAMEFS_TRY(auto entries, propfind(folder_url_of(folder), "1"));
    return tidy_listing(std::move(entries));
  }
  if (const auto known = manifest_.with([](const Manifest& value) { return value; })) {
    return manifest_folder(*known, folder);
  }
  auto entries = list_page(folder);
  if (entries) return tidy_listing(std::move(*entries));
  const auto& error = entries.error();
  const bool lists_nothing = error.sys == EACCES || error.sys == ENOENT || error.sys == ENOTDIR;
  if (!lists_nothing) return std::unexpected(error);
  const auto listed = manifest();
  if (!listed) return std::unexpected(error);
  return manifest_folder(**listed, folder);
}

Result<RemoteEntry> WebStore::stat_page(const std::string& path) {
  const auto url = url_of(path);
  const auto place = std::make_shared<fs::Guarded<Url>>(std::in_place, url);
  auto answer = queue_.run(make_call(
      RequestKind::head, url, [](HttpRequest& request) { request.method = "HEAD"; }, &check_ok,
      place));
  const auto end = place->with([](const Url& known) { return known; });
  RemoteEntry entry;
  if (answer) entry = entry_of_head_answer(*answer);
  // An entry is a folder if the final URL ends in a slash, by a redirection or from the start.
  entry.is_directory = end.path.ends_with('/');
  if (!answer) {
    const bool may_be_folder = answer.error().sys == EACCES || answer.error().sys == ENOENT;
    if (!may_be_folder) return std::unexpected(answer.error());
    const auto listed = list(path);
    if (!listed || (listed->empty() && !path.empty())) return std::unexpected(answer.error());
    entry.is_directory = true;
  }
  return entry;
}

Result<RemoteEntry> WebStore::stat(const std::string& path) {
  RemoteEntry entry;
  if (listing_ == Listing::dav) {
    FRAMEFS_TRY(const auto entries, propfind(url_of(path), "0"));
    const auto self = std::ranges::find(entries, "", &RemoteEntry::name);
    if (self == entries.end()) return fs::system_error_of(ENOENT, "DAV resource");
    entry = *self;
  } else {
    FRAMEFS_TRY(entry, stat_page(path));
  }
  entry.name = path;
  return entry;
}

void WebStore::start_open(const std::string& path, const OpenRequest& open, OpenDone done) {
  const auto url = url_of(path);
  const auto place = std::make_shared<fs::Guarded<Url>>(std::in_place, url);
  auto call = make_call(
      RequestKind::get, url, [open](HttpRequest& request) { ask_for_part(request, open); },
      [open](const HttpAnswer& answer) { return check_open_answer(answer, open); }, place);
  queue_.start(std::move(call),
               [this, url, path, place, open, done = std::move(done)](Result<HttpAnswer> answer) {
                 if (!answer) return done(std::unexpected(answer.error()));
                 auto facts = facts_of_open_answer(root_.text(), path, std::move(*answer), open);
                 const auto version = std::make_shared<const ObjectVersion>(facts.version);
                 auto range_call = [this, url, place, version](ByteRange range) {
                   return make_call(
                       RequestKind::get, url,
                       [version, range](HttpRequest& request) { pin(request, *version, range); },
                       [version, range](const HttpAnswer& got) {
                         return check_range_answer(got, *version, range);
                       },
                       place);
                 };
                 done(RemoteOpened{std::make_shared<const RemoteObject>(std::move(facts.version),
                                                                        std::move(range_call)),
                                   facts.mtime_ns, std::move(facts.part)});
               });
}

}  // namespace framefs::net
