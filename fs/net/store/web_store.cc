#include "fs/net/store/web_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/http/answer_check.h"
#include "fs/net/http/percent.h"
#include "fs/net/store/dav_listing.h"
#include "fs/net/store/object_open.h"
#include "fs/net/store/web_listing.h"

namespace framefs::net {
namespace {

constexpr int kMaxRedirects = 5;
// A listing of the root asks for a newer manifest each time, that of another folder after this
// time.
constexpr std::chrono::seconds kManifestAge{10};

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Verdict check_ok(const HttpAnswer& answer) {
  return answer.status == 200 ? Verdict{} : verdict_of_status(answer.status);
}

// Whether the server has answered that it lists no such folder.
bool lists_nothing(const Error& error) {
  return error.sys == EACCES || error.sys == ENOENT || error.sys == ENOTDIR;
}

// The bytes that a stat by GET fetches.
constexpr std::uint64_t kProbedBytes = 4096;

bool is_type(const HttpAnswer& answer, std::string_view type) {
  return answer.headers.find("content-type").value_or("").starts_with(type);
}

// Says what came instead of a listing.
Status check_is_listing(const HttpAnswer& answer) {
  const bool is_gzip = answer.text().starts_with("\x1f\x8b");
  if (is_encoded(answer) || is_gzip) {
    return fs::refusal(EIO, "the server sends a compressed listing, which framefs did not ask for");
  }
  if (is_type(answer, "application/json") || is_type(answer, "text/html")) return {};
  if (is_type(answer, "text/xml") || is_type(answer, "application/xml")) {
    return fs::refusal(ENOTDIR, "the server sends XML instead of a listing in HTML or JSON");
  }
  if (is_type(answer, "text/plain")) {
    return fs::refusal(ENOTDIR, "the server sends plain text instead of a listing in HTML or JSON");
  }
  return fs::refusal(ENOTDIR, "the server sends no listing of this directory");
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
    bool is_fallback = false;     // the call has gone back to its first URL
    bool is_public_only = false;  // a public server has redirected the call
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
    led.is_public_only = led.is_public_only || answer.is_from_public;
    return Verdict{Verdict::Kind::again, fs::system_error_of(EIO, "redirect").error()};
  });
}

Verdict WebStore::judge(const HttpAnswer& answer, const Check& check, CallState& state) {
  if (is_redirect(answer.status)) return judge_redirect(answer, state);
  const auto verdict = check(answer);
  const bool is_refused = answer.status == 401 || answer.status == 403 || answer.status == 404;
  return state.led.with([&](CallState::Led& led) {
    // An earlier redirection may have been temporary.
    if (is_refused && led.url != state.first && !std::exchange(led.is_fallback, true)) {
      led.url = state.first;
      return Verdict{Verdict::Kind::again, verdict.error};
    }
    if (verdict.kind == Verdict::Kind::done && state.place) {
      state.place->with([&](Url& known) { known = led.url; });
    }
    return verdict;
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
  constexpr std::array kMethods{"GET ", "HEAD ", "LIST "};
  call.name = kMethods[static_cast<std::size_t>(kind)] + state->first.path;
  call.make = [state, adjust = std::move(adjust)]() -> Result<HttpRequest> {
    HttpRequest request;
    state->led.with([&](const CallState::Led& led) {
      request.url = led.url;
      request.is_public_only = led.is_public_only;
    });
    // A server to which another one leads is none that the user has chosen; a "default" login of
    // ~/.netrc would go to it.
    request.use_netrc = request.url.same_origin(state->first);
    adjust(request);
    return request;
  };
  call.judge = [state, check = std::move(check)](const HttpAnswer& answer) {
    return judge(answer, check, *state);
  };
  return call;
}

auto WebStore::manifest(std::chrono::seconds max_age, PageCharge charge) -> Result<Manifest> {
  const bool is_mine = is_manifest_fetched_.wait_unless(
      fs::interrupted, [](bool is_fetched) { return !is_fetched; },
      [](bool& is_fetched) { return !std::exchange(is_fetched, true); });
  if (!is_mine) return fs::system_error_of(EINTR, "manifest");
  struct End {
    fs::Guarded<bool>& is_fetched;
    ~End() {
      is_fetched.with_and_wake([](bool& now) { now = false; });
    }
  };
  const End end{is_manifest_fetched_};
  const auto now = std::chrono::steady_clock::now();
  const auto known = manifest_.with([](const KnownManifest& value) { return value; });
  if (known.files && now - known.checked < max_age) return known.files;
  const auto ask = [known, meters = body_meters(std::move(charge.body), kMaxManifestBytes)](
                       HttpRequest& request) {
    request.max_body_bytes = kMaxManifestBytes;
    request.meter = meters();
    if (!known.files) return;
    if (!known.etag.empty()) request.headers.add("if-none-match", known.etag);
    if (!known.last_modified.empty()) {
      request.headers.add("if-modified-since", known.last_modified);
    }
  };
  const auto check = [has_known = known.files != nullptr](const HttpAnswer& answer) {
    return has_known && answer.status == 304 ? Verdict{} : check_ok(answer);
  };
  const auto answer = queue_.run(make_call(RequestKind::list, url_of(kManifestName), ask, check));
  if (!answer) {
    if (lists_nothing(answer.error())) {
      manifest_.with([](KnownManifest& value) { value.files = nullptr; });
    }
    return std::unexpected(answer.error());
  }
  auto files = known.files;
  if (answer->status != 304) {
    if (answer->is_refused_by_meter) return over_listing_budget();
    if (answer->body_too_long) return codec::fail(Errc::over_limit, kLongManifest);
    FRAMEFS_TRY(auto parsed, ManifestTable::parse(answer->text(), std::move(charge.table)));
    files = std::make_shared<const ManifestTable>(std::move(parsed));
  }
  manifest_.with([&](KnownManifest& value) {
    value.files = files;
    value.checked = now;
    if (answer->status == 304) return;
    value.etag = answer->headers.find("etag").value_or("");
    value.last_modified = answer->headers.find("last-modified").value_or("");
  });
  return files;
}

Status WebStore::list_page(const std::string& folder, ListingBudget::Charge body,
                           const TakeEntry& take) {
  const auto url = folder_url_of(folder);
  const auto place = std::make_shared<fs::Guarded<Url>>(std::in_place, url);
  const auto adjust =
      [meters = body_meters(std::move(body), kMaxListingBodyBytes)](HttpRequest& request) {
        request.headers.add("accept", "application/json, text/html");
        request.max_body_bytes = kMaxListingBodyBytes;
        request.meter = meters();
      };
  FRAMEFS_TRY(const auto answer,
              queue_.run(make_call(RequestKind::list, url, adjust, &check_ok, place)));
  if (answer.is_refused_by_meter) return over_listing_budget();
  if (answer.body_too_long) return codec::fail(Errc::over_limit, "listing");
  FRAMEFS_CHECK(check_is_listing(answer));
  if (is_type(answer, "application/json")) return parse_json_listing(answer.text(), take);
  return parse_html_listing(answer.text(), place->with([](const Url& known) { return known; }),
                            take);
}

Status WebStore::propfind(const Url& url, const char* depth, ListingBudget::Charge body,
                          const TakeEntry& take) {
  const auto place = std::make_shared<fs::Guarded<Url>>(std::in_place, url);
  const auto adjust =
      [depth, meters = body_meters(std::move(body), kMaxListingBodyBytes)](HttpRequest& request) {
        request.method = "PROPFIND";
        request.headers.add("depth", depth);
        request.headers.add("content-type", "application/xml; charset=utf-8");
        request.body = kPropfindBody;
        request.max_body_bytes = kMaxListingBodyBytes;
        request.meter = meters();
      };
  FRAMEFS_TRY(const auto answer,
              queue_.run(make_call(RequestKind::list, url, adjust, &check_multistatus, place)));
  if (answer.is_refused_by_meter) return over_listing_budget();
  if (answer.body_too_long) return codec::fail(Errc::over_limit, "listing");
  return parse_dav_listing(answer.text(), place->with([](const Url& known) { return known; }),
                           take);
}

std::unique_ptr<PageRequest> WebStore::start_page(const std::string& folder, const std::string&,
                                                  PageCharge charge) {
  const auto shared = std::make_shared<PageCharge>(std::move(charge));
  return deferred_page([this, folder, shared] {
    return listing_ == Listing::page ? list_web(folder, std::move(*shared))
                                     : list_dav(folder, std::move(*shared));
  });
}

Result<ListedPage> WebStore::list_dav(const std::string& folder, PageCharge charge) {
  EntryTableBuilder builder(std::move(charge.table));
  FRAMEFS_CHECK(propfind(folder_url_of(folder), "1", std::move(charge.body),
                         [&](const RemoteEntry& entry) { return builder.add(entry); }));
  return builder.finish();
}

Result<ListedPage> WebStore::list_web(const std::string& folder, PageCharge charge) {
  const bool is_root = folder.empty();
  const bool is_listing =
      manifest_.with([](const KnownManifest& value) { return value.is_listing; });
  // The manifest is larger than a listing, so it gets what is reserved for tables.
  const auto for_manifest = [&] {
    return PageCharge{.body = charge.body.split(0),
                      .table = charge.table.split(std::numeric_limits<std::uint64_t>::max())};
  };
  EntryTableBuilder builder(charge.table.split(0));
  const TakeEntry take = [&](const RemoteEntry& entry) { return builder.add(entry); };
  if (!is_root && is_listing) {
    const auto listed = manifest(kManifestAge, for_manifest());
    if (listed) {
      FRAMEFS_CHECK((*listed)->list(folder, take));
      return builder.finish();
    }
    if (is_over_budget(listed.error())) return std::unexpected(listed.error());
  }
  const auto page = list_page(folder, charge.body.split(kMaxListingBodyBytes), take);
  const bool is_refused = !page && lists_nothing(page.error());
  if (is_root && (page || is_refused)) {
    manifest_.with([&](KnownManifest& value) { value.is_listing = is_refused; });
  }
  if (page) return builder.finish();
  if (!is_refused) return std::unexpected(page.error());
  const auto listed = manifest(is_root ? std::chrono::seconds(0) : kManifestAge, for_manifest());
  if (!listed) {
    // A server that fails must not look like a folder that does not exist.
    const auto& error = listed.error();
    const bool has_failed = error.kind == Errc::system && !lists_nothing(error);
    return std::unexpected(has_failed ? error : page.error());
  }
  FRAMEFS_CHECK((*listed)->list(folder, take));
  auto in_folder = builder.finish();
  // Only the root exists without a file below it.
  if (in_folder.table.empty() && !is_root) return std::unexpected(page.error());
  return in_folder;
}

Result<RemoteEntry> WebStore::stat_page(const std::string& path) {
  const auto url = url_of(path);
  if (refuses_head_.load(std::memory_order_relaxed)) {
    return stat_by_get(path, fs::system_error_of(EOPNOTSUPP, "HEAD").error());
  }
  const auto place = std::make_shared<fs::Guarded<Url>>(std::in_place, url);
  const auto answer = queue_.run(make_call(
      RequestKind::head, url, [](HttpRequest& request) { request.method = "HEAD"; }, &check_ok,
      place));
  if (!answer) return stat_by_get(path, answer.error());
  auto entry = entry_of_head_answer(*answer);
  // An entry is a folder if the final URL ends in a slash, by a redirection or from the start.
  entry.is_directory = place->with([](const Url& known) { return known.path.ends_with('/'); });
  return entry;
}

Result<RemoteEntry> WebStore::stat_by_get(const std::string& path, const Error& refusal) {
  if (refusal.sys == EOPNOTSUPP) refuses_head_.store(true, std::memory_order_relaxed);
  // The signature of a URL may allow GET only.
  const bool is_refused = refusal.sys == EACCES || refusal.sys == EOPNOTSUPP;
  if (!is_refused && refusal.sys != ENOENT) return std::unexpected(refusal);
  const auto url = url_of(path);
  Result<RemoteOpened> opened = std::unexpected(refusal);
  if (is_refused && !url.path.ends_with('/')) {
    const auto place = std::make_shared<fs::Guarded<Url>>(std::in_place, url);
    opened = wait_for_open([&](OpenDone done) {
      start_open_at(path, place, {.range = {0, kProbedBytes}}, std::move(done));
    });
    const bool is_folder = place->with([](const Url& known) { return known.path.ends_with('/'); });
    if (opened && !is_folder) return entry_of(*opened);
  }
  const auto listed = list(path);
  if (listed && (!listed->entries.empty() || path.empty())) {
    RemoteEntry folder;
    folder.is_directory = true;
    return folder;
  }
  const bool has_failed = !opened && opened.error().sys != EACCES;
  return std::unexpected(has_failed ? opened.error() : refusal);
}

Result<RemoteEntry> WebStore::stat(const std::string& path) {
  RemoteEntry entry;
  if (listing_ == Listing::dav) {
    std::optional<RemoteEntry> self;
    FRAMEFS_CHECK(propfind(url_of(path), "0", {}, [&](const RemoteEntry& found) -> Status {
      if (found.name.empty() && !self) self = found;
      return {};
    }));
    if (!self) return fs::system_error_of(ENOENT, "DAV resource");
    entry = std::move(*self);
  } else {
    FRAMEFS_TRY(entry, stat_page(path));
  }
  entry.name = path;
  return entry;
}

void WebStore::start_open(const std::string& path, const OpenRequest& open, OpenDone done) {
  start_open_at(path, std::make_shared<fs::Guarded<Url>>(std::in_place, url_of(path)), open,
                std::move(done));
}

void WebStore::start_open_at(const std::string& path,
                             const std::shared_ptr<fs::Guarded<Url>>& place,
                             const OpenRequest& open, OpenDone done) {
  auto get = [url = url_of(path), place](Adjust adjust, Check check) {
    return make_call(RequestKind::get, url, std::move(adjust), std::move(check), place);
  };
  net::start_open(queue_, std::move(get), root_.text(), path, open, std::move(done));
}

}  // namespace framefs::net
