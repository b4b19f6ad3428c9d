#include "src/cli/url_parts.h"

#include <algorithm>

#include "fs/source/suffixes.h"

namespace framefs {
namespace {

bool is_container(fs::Expected expected) {
  return expected == fs::Expected::embed_container || expected == fs::Expected::zip_container;
}

bool is_frame(fs::Expected expected) {
  return expected == fs::Expected::frame || expected == fs::Expected::array;
}

// The offset of the first name in the URL's path: behind the server, or the bucket.
std::optional<std::size_t> begin_of_path(const std::string& url) {
  const auto server = url.find("://");
  if (server == std::string::npos || url.find('?') != std::string::npos) return std::nullopt;
  const auto slash = url.find('/', server + 3);
  return slash == std::string::npos ? std::nullopt : std::optional(slash + 1);
}

}  // namespace

std::optional<UrlParts> split_at_container(const std::string& url) {
  auto begin = begin_of_path(url);
  while (begin) {
    const auto end = url.find('/', *begin);
    if (end == std::string::npos) return std::nullopt;
    const auto path = url.find_first_not_of('/', end);
    if (path == std::string::npos) return std::nullopt;
    if (is_container(fs::expected_content(url.substr(*begin, end - *begin)))) {
      return UrlParts{url.substr(0, end), url.substr(path)};
    }
    begin = path;
  }
  return std::nullopt;
}

std::optional<UrlParts> split_at_frame(const std::string& url) {
  const auto begin = begin_of_path(url);
  const auto last = url.find_last_not_of('/');
  if (!begin || last == std::string::npos || last < *begin) return std::nullopt;
  const auto name = std::max(*begin, url.rfind('/', last) + 1);
  UrlParts parts{url.substr(0, name), url.substr(name, last + 1 - name)};
  if (!is_frame(fs::expected_content(parts.path))) return std::nullopt;
  return parts;
}

}  // namespace framefs
