#include "fs/net/store/s3_listing.h"

#include <string>

#include <pugixml.hpp>

#include "fs/net/http/percent.h"
#include "fs/net/http/timestamp.h"
#include "fs/net/store/xml_text.h"

namespace framefs::net {

Result<S3ListingPage> parse_s3_listing(std::string_view xml, std::string_view prefix) {
  pugi::xml_document document;
  if (!parse_xml(document, xml)) {
    return codec::fail(Errc::bad_field, "S3 listing: XML");
  }
  const auto root = document.child("ListBucketResult");
  if (!root) return codec::fail(Errc::bad_field, "S3 listing: ListBucketResult");
  // A server may ignore the requested encoding of names.
  const bool is_encoded = std::string_view(root.child_value("EncodingType")) == "url";
  const auto relative = [&](const char* text) {
    auto key = is_encoded ? form_decode(text) : std::string(text);
    // A key that is not below the prefix becomes "", which is no file's name.
    return key.starts_with(prefix) ? key.substr(prefix.size()) : std::string{};
  };

  S3ListingPage page;
  for (const auto& child : root.children("Contents")) {
    page.has_keys = true;
    RemoteEntry entry;
    entry.name = relative(child.child_value("Key"));
    entry.size = child.child("Size").text().as_ullong();
    // In whole seconds, as a HEAD has it: a lookup and a listing show the same time.
    entry.mtime_ns = parse_iso_time(child.child_value("LastModified")).value_or(0) * kNsPerSecond;
    entry.etag = child.child_value("ETag");
    // A name that ends in a slash marks a folder.  The marker of this folder itself has no name.
    if (entry.name.ends_with('/')) continue;
    page.entries.push_back(std::move(entry));
  }
  for (const auto& child : root.children("CommonPrefixes")) {
    RemoteEntry entry;
    entry.name = relative(child.child_value("Prefix"));
    entry.is_directory = true;
    // "/" stands for the keys with an empty segment here, which no path leads to.
    if (entry.name.size() > 1) entry.name.pop_back();
    page.entries.push_back(std::move(entry));
  }
  if (root.child("IsTruncated").text().as_bool()) {
    page.continuation = root.child_value("NextContinuationToken");
    if (page.continuation.empty()) {
      return codec::fail(Errc::bad_field, "S3 listing: NextContinuationToken");
    }
  }
  return page;
}

S3Error parse_s3_error(std::string_view xml) {
  pugi::xml_document document;
  if (!parse_xml(document, xml)) return {};
  const auto root = document.child("Error");
  constexpr std::size_t kMaxMessageBytes = 200;
  return {.code = root.child_value("Code"),
          .message = std::string(root.child_value("Message")).substr(0, kMaxMessageBytes),
          .region = root.child_value("Region")};
}

}  // namespace framefs::net
