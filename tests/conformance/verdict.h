#pragma once

#include <string>

#include "codec/core/result.h"
#include "tests/conformance/manifest.h"

namespace framefs::test {

// How many entries were held against the manifest, and how.
struct Tally {
  int decoded = 0;      // to exactly the expected bytes
  int refused = 0;      // as expected
  int deferred = 0;     // refused for a plugin that this build lacks
  int undecidable = 0;  // decoded by the rule of later writers
  int skipped = 0;      // kinds this test does not read
};

// Checks what became of an entry, its SHA-256 or an error, against what the manifest allows, and
// counts it.  Uses Catch2 assertions.
void check_verdict(const ManifestEntry& entry, const codec::Result<std::string>& sha256,
                   Tally& tally);

std::string describe(const codec::Error& error);

}  // namespace framefs::test
