#pragma once

#include <string_view>

// Forward declaration: pugixml ends in the .cc files of this folder.
namespace pugi {
class xml_document;  // NOLINT(readability-identifier-naming): a name of pugixml
}

namespace framefs::net {

// Parses an answer of a server.  A document takes many times the memory of its text if it has many
// nodes, so a text with more of them than a listing needs is refused.  False also if the text is
// not XML.
bool parse_xml(pugi::xml_document& document, std::string_view text);

}  // namespace framefs::net
