#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fs/net/store/object_store.h"

namespace framefs::net {

// One page of a listing with a delimiter.
struct S3ListingPage {
  std::vector<RemoteEntry> entries;  // named relative to the prefix
  std::string continuation;          // for the next page; "" at the end
  bool has_keys = false;             // also markers of folders, which are no entries
};

// Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
// Errors: bad_field.
Result<S3ListingPage> parse_s3_listing(std::string_view xml, std::string_view prefix);

// The body of an error answer of S3.
struct S3Error {
  std::string code;     // "" if the answer has none
  std::string message;  // the explanation for people; its beginning if it is long
  std::string region;   // the region of the bucket, if the request went to another
};
S3Error parse_s3_error(std::string_view xml);

}  // namespace framefs::net
