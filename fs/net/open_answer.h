#pragma once

#include <string>
#include <string_view>

#include "fs/net/object_store.h"

namespace framefs::net {

// Turns a GET into the request that opens an object.
void ask_for_part(HttpRequest& request, const OpenRequest& open);

// Checks that an answer to this request can open an object.
Verdict check_open_answer(const HttpAnswer& answer, const OpenRequest& open);

// The facts in an answer that passed the check.  `store` and `open_number` are those of
// make_version().
struct OpenFacts {
  ObjectVersion version;
  std::int64_t mtime_ns = 0;
  Part part;
};
OpenFacts facts_of_open_answer(std::string_view store, const std::string& path, HttpAnswer answer,
                               const OpenRequest& open, std::uint64_t open_number);

// The entry that the answer to a HEAD describes, without the name.
RemoteEntry entry_of_head_answer(const HttpAnswer& answer);

}  // namespace framefs::net
