#pragma once

#include <functional>
#include <string>

#include "fs/net/http/request_queue.h"
#include "fs/net/store/object_store.h"

namespace framefs::net {

// Completes the request of a call.
using Adjust = std::function<void(HttpRequest&)>;
// Judges the answer to it.
using Check = std::function<Verdict(const HttpAnswer&)>;
// Makes a call that gets one object.
using MakeGet = std::function<Call(Adjust adjust, Check check)>;

// Opens an object by one call; ObjectStore::start_open() says how.  `store` and `path` are those of
// make_version().  The object calls `get` for each range that is read.
void start_open(RequestQueue& queue, MakeGet get, std::string store, std::string path,
                const OpenRequest& open, ObjectStore::OpenDone done);

// The entry that the answer to a HEAD describes, without the name.
RemoteEntry entry_of_head_answer(const HttpAnswer& answer);

}  // namespace framefs::net
