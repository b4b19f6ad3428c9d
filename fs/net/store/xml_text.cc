#include "fs/net/store/xml_text.h"

#include <algorithm>
#include <cstddef>

#include <pugixml.hpp>

namespace framefs::net {
namespace {

// Each element has one of these marks, and each attribute the other.
std::uint64_t count_of_marks(std::string_view text) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(text, [](char c) { return c == '<' || c == '='; }));
}

}  // namespace

std::uint64_t xml_memory(std::string_view text) {
  constexpr std::uint64_t kNodeBytes = 64;
  return text.size() + kNodeBytes * count_of_marks(text);
}

bool parse_xml(pugi::xml_document& document, std::string_view text) {
  constexpr std::uint64_t kMaxMarks = 1 << 20;
  return count_of_marks(text) <= kMaxMarks && document.load_buffer(text.data(), text.size());
}

}  // namespace framefs::net
