#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "codec/core/limits.h"
#include "fs/source/named_source.h"

namespace framefs {

// A container as a whole.
struct ContainerSummary {
  std::string kind;  // "archive" (.b2z) or "embedded container" (.b2e)
  std::uint64_t stored_bytes = 0;
};
ContainerSummary summarise_container(const fs::SourceEntry& entry);

// A member of a container.
struct ContainerMember {
  std::string path;  // path in the container
  std::string kind;  // "frame", "array", "file"; "damaged" if it cannot be read
  std::uint64_t stored_bytes = 0;
  std::uint64_t nbytes = 0;  // decoded size; for a file, its size
  std::optional<codec::Error> error;
};

// Calls `visit` for every file below a directory of a container, until `visit` returns false.
void visit_members(const fs::ContainerDirectory& directory, const codec::Limits& limits,
                   const std::function<bool(const ContainerMember&)>& visit);

}  // namespace framefs
