#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <pugixml.hpp>

namespace framefs::net {

// Parses an answer of a server.  A document takes many times the memory of its text if it has many
// nodes, so a text with more than a listing needs is refused.  False also if the text is no XML.
inline bool parse_xml(pugi::xml_document& document, std::string_view text) {
  constexpr std::ptrdiff_t kMaxMarks = 16 << 20;
  // Each element and text has one of these, and each attribute the other.
  const auto marks = std::ranges::count_if(text, [](char c) { return c == '<' || c == '='; });
  return marks <= kMaxMarks && document.load_buffer(text.data(), text.size());
}

}  // namespace framefs::net
