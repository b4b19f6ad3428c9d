#pragma once

#include <string>
#include <string_view>

#include "fs/net/object_store.h"

namespace framefs::net {

// Makes a GET the one that opens an object: it asks for the head.
void ask_for_head(HttpRequest& request);

// Whether an answer to it is one that an object can be opened with.
Verdict check_open_answer(const HttpAnswer& answer);

// What an answer that passed the check says.  `store` names store and server.
struct OpenFacts {
  ObjectVersion version;
  std::int64_t mtime_ns = 0;
  Part head;
};
OpenFacts facts_of_open_answer(std::string_view store, const std::string& path, HttpAnswer answer);

// What the answer to a HEAD says, but for the name.
RemoteEntry entry_of_head_answer(const HttpAnswer& answer);

}  // namespace framefs::net
