#include "fs/net/store/web_listing.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/http/percent.h"
#include "fs/net/http/timestamp.h"

namespace framefs::net {
namespace {

using Json = nlohmann::ordered_json;

// Reads the JSON as a stream of values, because the values together would take many times the
// memory of the text.
class JsonListingReader final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonListingReader(const TakeEntry& take) : take_(take) {}

  // The error that has ended the listing, other than that of the text.
  [[nodiscard]] const Status& taken() const { return taken_; }

  bool null() override { return note_scalar(); }
  bool boolean(bool value) override {
    if (is_in_entry() && key_ == "is_dir") entry_.is_directory = entry_.is_directory || value;
    return note_scalar();
  }
  bool number_integer(std::int64_t) override { return note_scalar(); }
  bool number_float(double, const std::string&) override { return note_scalar(); }
  bool binary(Json::binary_t&) override { return note_scalar(); }
  bool number_unsigned(std::uint64_t value) override {
    if (is_in_entry() && key_ == "size") {
      entry_.size = value;
      entry_.is_exact = true;
    }
    return note_scalar();
  }
  bool string(std::string& value) override {
    if (is_in_entry()) take_text(value);
    return note_scalar();
  }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override {
    if (!enter()) return false;
    if (is_in_entry()) {
      entry_ = {};
      entry_.is_exact = false;
    }
    return depth_ > kListing;
  }
  bool end_object() override {
    const bool is_kept = !is_in_entry() || keep_entry();
    --depth_;
    return is_kept;
  }
  // An entry is an object.
  bool start_array(std::size_t) override { return enter() && depth_ != kEntry; }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  // The depth of a value in the array of entries, and in an entry.
  static constexpr std::size_t kListing = 1;
  static constexpr std::size_t kEntry = 2;
  // Servers nest nothing in an entry.
  static constexpr std::size_t kMaxDepth = 16;
  static constexpr std::size_t kValuesPerPoll = 4096;

  [[nodiscard]] bool is_in_entry() const { return depth_ == kEntry; }
  bool note_scalar() {
    if (++values_ % kValuesPerPoll == 0 && fs::interrupted()) return false;
    return depth_ > kListing;
  }
  bool enter() {
    ++depth_;
    ++values_;
    return depth_ <= kMaxDepth;
  }
  void take_text(std::string& value) {
    if (key_ == "name") {
      entry_.name = std::move(value);
    } else if (key_ == "type") {
      entry_.is_directory = entry_.is_directory || value == "directory";
    } else if (key_ == "mtime" || key_ == "mod_time") {
      entry_.mtime_ns = time_of(value);
    }
  }
  bool keep_entry() {
    if (entry_.is_directory) {
      entry_.is_exact = true;
      entry_.size = 0;
      // Caddy marks folders by a slash.
      if (entry_.name.ends_with('/')) entry_.name.pop_back();
    }
    if (!entry_.name.empty()) taken_ = take_(entry_);
    if (++values_ % kValuesPerPoll == 0 && fs::interrupted()) return false;
    return taken_.has_value();
  }

  std::size_t depth_ = 0;
  std::size_t values_ = 0;
  std::string key_;
  RemoteEntry entry_;
  const TakeEntry& take_;
  Status taken_;
};

std::string with_entities_resolved(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&quot;", "\""}, {"&#34;", "\""}, {"&apos;", "'"}, {"&#39;", "'"}, {"&#x27;", "'"},
      {"&lt;", "<"},    {"&gt;", ">"},   {"&#43;", "+"},  {"&amp;", "&"}};
  std::string resolved;
  while (!text.empty()) {
    const auto* const found = std::ranges::find_if(
        kEntities, [&](const auto& entity) { return text.starts_with(entity.first); });
    if (found != std::ranges::end(kEntities)) {
      resolved += found->second;
      text.remove_prefix(found->first.size());
    } else {
      resolved += text[0];
      text.remove_prefix(1);
    }
  }
  return resolved;
}

// A longer link leads to no name that a file can have.
constexpr std::size_t kMaxLinkBytes = 64 << 10;

bool is_letter(char c, char lower) { return c == lower || c == lower - 'a' + 'A'; }

// Finds the value of the next href attribute from `at` on, and moves `at` behind it.
bool next_link(std::string_view html, std::size_t& at, std::string& link) {
  for (; at + 6 < html.size(); ++at) {
    const bool is_href = is_letter(html[at], 'h') && is_letter(html[at + 1], 'r') &&
                         is_letter(html[at + 2], 'e') && is_letter(html[at + 3], 'f') &&
                         html[at + 4] == '=';
    const char quote = html[at + 5];
    if (!is_href || (quote != '"' && quote != '\'')) continue;
    const auto end = html.find(quote, at + 6);
    if (end == html.npos) return false;
    link = with_entities_resolved(html.substr(at + 6, end - at - 6));
    at = end + 1;
    return true;
  }
  return false;
}

}  // namespace

Status parse_json_listing(std::string_view text, const TakeEntry& take) {
  JsonListingReader reader(take);
  const bool is_listing = Json::sax_parse(text, &reader);
  if (fs::interrupted()) return fs::system_error_of(EINTR, "JSON listing");
  FRAMEFS_CHECK(reader.taken());
  if (!is_listing) return codec::fail(Errc::bad_field, "JSON listing");
  return {};
}

Status parse_html_listing(std::string_view html, const Url& folder, const TakeEntry& take) {
  std::string link;
  for (std::size_t at = 0; next_link(html, at, link);) {
    if (fs::interrupted()) return fs::system_error_of(EINTR, "HTML listing");
    if (link.size() > kMaxLinkBytes) continue;
    const auto target = resolve_url(folder, link);
    if (!target || !target->same_origin(folder) || !target->query.empty()) continue;
    // Servers encode different sets of characters.
    const auto path = percent_decode(target->path);
    const auto base = percent_decode(folder.path);
    if (!path.starts_with(base) || path.size() == base.size()) continue;
    RemoteEntry entry;
    entry.name = path.substr(base.size());
    entry.is_directory = entry.name.ends_with('/');
    if (entry.is_directory) entry.name.pop_back();
    entry.is_exact = entry.is_directory;
    // A link to another folder.
    if (entry.name.find('/') != entry.name.npos) continue;
    FRAMEFS_CHECK(take(entry));
  }
  return {};
}

}  // namespace framefs::net
