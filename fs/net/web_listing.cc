#include "fs/net/web_listing.h"

#include <nlohmann/json.hpp>

#include "fs/net/json_text.h"
#include "fs/net/percent.h"
#include "fs/net/timestamp.h"

namespace framefs::net {
namespace {

using nlohmann::json;

// Reads a size, or notes that the listing has none.
void take_size(const json& object, RemoteEntry& entry) {
  const auto found = object.find("size");
  entry.is_exact = found != object.end() && found->is_number_unsigned();
  if (entry.is_exact) entry.size = found->get<std::uint64_t>();
}

std::string with_entities_resolved(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&quot;", "\""}, {"&#34;", "\""}, {"&apos;", "'"}, {"&#39;", "'"}, {"&#x27;", "'"},
      {"&lt;", "<"},    {"&gt;", ">"},   {"&#43;", "+"},  {"&amp;", "&"}};
  for (const auto& [entity, meaning] : kEntities) {
    for (auto at = text.find(entity); at != text.npos;
         at = text.find(entity, at + meaning.size())) {
      text.replace(at, entity.size(), meaning);
    }
  }
  return text;
}

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
    link = with_entities_resolved(std::string(html.substr(at + 6, end - at - 6)));
    at = end + 1;
    return true;
  }
  return false;
}

}  // namespace

Result<std::vector<RemoteEntry>> parse_json_listing(std::string_view text) {
  const auto listing = json::parse(text, nullptr, false);
  if (!listing.is_array()) return codec::fail(Errc::bad_field, "JSON listing");
  std::vector<RemoteEntry> entries;
  for (const auto& object : listing) {
    if (!object.is_object()) return codec::fail(Errc::bad_field, "JSON listing: entry");
    RemoteEntry entry;
    entry.name = text_of(object, "name");
    const auto is_dir = object.find("is_dir");
    entry.is_directory = text_of(object, "type") == "directory" ||
                         (is_dir != object.end() && is_dir->is_boolean() && is_dir->get<bool>());
    // Caddy marks folders by a slash.
    if (entry.is_directory && entry.name.ends_with('/')) entry.name.pop_back();
    if (!entry.is_directory) take_size(object, entry);
    const auto mtime = text_of(object, "mtime");
    entry.mtime_ns = time_of(mtime.empty() ? text_of(object, "mod_time") : mtime);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<RemoteEntry> parse_html_listing(std::string_view html, const Url& folder) {
  std::vector<RemoteEntry> entries;
  std::string link;
  for (std::size_t at = 0; next_link(html, at, link);) {
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
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace framefs::net
