#pragma once

#include <cstdint>
#include <string_view>

// Forward declaration: pugixml ends in the .cc files of this folder.
namespace pugi {
class xml_document;  // NOLINT(readability-identifier-naming): a name of pugixml
}

namespace framefs::net {

// The memory that a document of the text takes, about: many times that of the text if it has many
// nodes.
std::uint64_t xml_memory(std::string_view text);

// Parses an answer of a server, or a part of it.  A text with more nodes than a page of a listing
// needs is refused.  False also if the text is not XML.
bool parse_xml(pugi::xml_document& document, std::string_view text);

}  // namespace framefs::net
