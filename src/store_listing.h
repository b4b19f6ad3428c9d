#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "codec/core/limits.h"
#include "fs/tree/named_source.h"

namespace framefs {

// A store as a whole.
struct StoreSummary {
  std::string kind;  // "archive" (.b2z) or "embedded store" (.b2e)
  std::uint64_t stored_bytes = 0;
};
StoreSummary summarise_store(const fs::SourceEntry& entry);

// What is in a store.
struct StoreMember {
  std::string path;  // in the store
  std::string kind;  // "frame", "array", "file"; "damaged" where it cannot be read
  std::uint64_t stored_bytes = 0;
  std::uint64_t nbytes = 0;  // decoded; of a file, its size
  std::optional<codec::Error> error;
};

// Shows every file below a directory of a store, for as long as `visit` returns true.
void visit_members(const fs::StoreDirectory& directory, const codec::Limits& limits,
                   const std::function<bool(const StoreMember&)>& visit);

}  // namespace framefs
