#pragma once

#include <optional>
#include <string>

namespace framefs {

// A URL in two parts: a SOURCE that can be opened, and a path below it.
struct UrlParts {
  std::string source;
  std::string path;
};

// The parts of the URL of something below an object or prefix with the name of a container; nothing
// for other URLs, and for one with a query, whose path no server knows in parts.
std::optional<UrlParts> split_at_container(const std::string& url);

// The prefix that holds the last name of a URL, if that is the name of a frame or array.
std::optional<UrlParts> split_at_frame(const std::string& url);

}  // namespace framefs
