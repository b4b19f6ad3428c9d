#include "fs/net/store/xml_text.h"

#include <algorithm>
#include <cstddef>

#include <pugixml.hpp>

namespace framefs::net {

bool parse_xml(pugi::xml_document& document, std::string_view text) {
  constexpr std::ptrdiff_t kMaxMarks = 4 << 20;
  // Each element has one of these marks, and each attribute the other.
  const auto marks = std::ranges::count_if(text, [](char c) { return c == '<' || c == '='; });
  return marks <= kMaxMarks && document.load_buffer(text.data(), text.size());
}

}  // namespace framefs::net
