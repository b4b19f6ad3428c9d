#include "tests/conformance/verdict.h"

#include "tests/support/catch.h"

namespace framefs::test {

using codec::Errc;

std::string describe(const codec::Error& error) {
  std::string text = codec::errc_name(error.kind);
  text += std::string(": ") + error.field + " at " + std::to_string(error.at);
  if (error.value) text += " (" + std::to_string(*error.value) + ")";
  return text;
}

std::ostream& operator<<(std::ostream& out, const Tally& tally) {
  return out << tally.decoded << " decoded, " << tally.refused << " refused, " << tally.deferred
             << " lack a codec, " << tally.undecidable << " undecidable, " << tally.lossy
             << " lossy";
}

void check_verdict(const ManifestEntry& entry, const codec::Result<std::string>& sha256,
                   Tally& tally) {
  INFO("manifest says: " << entry.what);
  if (sha256 && entry.undecidable && *sha256 != entry.sha256_if_accepted) {
    ++tally.undecidable;
    return;
  }
  if (sha256) {
    // If there are bytes, they must be those of the manifest.
    const bool must_be_read = entry.expect == Expect::ok;
    const std::string& right = must_be_read ? entry.sha256 : entry.sha256_if_accepted;
    INFO("read without an error");
    CHECK(*sha256 == right);
    ++tally.decoded;
    return;
  }
  INFO("refused: " << describe(sha256.error()));
  CHECK(sha256.error().kind != Errc::internal);
  CHECK(sha256.error().kind != Errc::system);
  if (entry.lacks_codec && sha256.error().kind == Errc::unsupported) {
    ++tally.deferred;
    return;
  }
  switch (entry.expect) {
    case Expect::ok:
      CHECK(entry.may_refuse);
      break;
    case Expect::unsupported:
      CHECK(sha256.error().kind == Errc::unsupported);
      break;
    case Expect::error:
      break;
  }
  ++tally.refused;
}

}  // namespace framefs::test
