#pragma once

#include <ostream>
#include <string>

#include "codec/core/result.h"
#include "tests/conformance/manifest.h"

namespace framefs::test {

// The number of entries with each outcome.
struct Tally {
  int decoded = 0;      // to exactly the expected bytes
  int refused = 0;      // as expected
  int deferred = 0;     // refused for a codec that this build lacks
  int undecidable = 0;  // decoded by the later writers' rule
  int lossy = 0;        // decoded to bytes whose hash is unknown
};
std::ostream& operator<<(std::ostream& out, const Tally& tally);

// Compares the outcome of an entry, its SHA-256 or an error, with what the manifest allows, and
// counts it.  Uses Catch2 assertions.
void check_verdict(const ManifestEntry& entry, const codec::Result<std::string>& sha256,
                   Tally& tally);

std::string describe(const codec::Error& error);

}  // namespace framefs::test
