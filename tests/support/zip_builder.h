#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/bytes.h"

namespace framefs::test {

// One member of an archive as a writer would store it; a test may make parts of it lie.
struct ZipFile {
  std::string name;
  Bytes content = {};  // as stored
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  bool wide = false;         // sizes and offset in the 64-bit extension
  Bytes local_extra = {};    // of the local header alone
  std::string comment = {};  // of the entry
};

struct ZipSpec {
  std::vector<ZipFile> files = {};
  bool wide_end = false;  // with the 64-bit end record, which alone has the numbers then
  std::string comment = {};
};

// An archive, and where its parts begin, so that a test can damage one field.
struct BuiltZip {
  Bytes bytes;
  std::vector<std::size_t> local_at;  // of each file
  std::vector<std::size_t> data_at;
  std::vector<std::size_t> entry_at;  // in the directory
  std::size_t directory_at = 0;
  std::size_t end_64_at = 0;  // 0 where there is none
  std::size_t locator_at = 0;
  std::size_t end_at = 0;
};

// Source: .ZIP File Format Specification (APPNOTE), 4.3 to 4.5.
BuiltZip build_zip(const ZipSpec& spec);

}  // namespace framefs::test
