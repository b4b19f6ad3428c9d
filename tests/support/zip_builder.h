#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/bytes.h"

namespace framefs::test {

// One member of an archive, as a writer would store it.  A test may make parts of it wrong.
struct ZipFile {
  std::string name;
  Bytes content = {};  // as stored
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  bool wide = false;         // sizes and offset are in the 64-bit extension
  Bytes local_extra = {};    // only in the local header
  std::string comment = {};  // of the directory entry
};

struct ZipSpec {
  std::vector<ZipFile> files = {};
  bool wide_end = false;  // only the 64-bit end record has the numbers
  std::string comment = {};
};

// An archive and the offsets of its parts, so that a test can damage a single field.
struct BuiltZip {
  Bytes bytes;
  std::vector<std::size_t> local_at;  // of each file
  std::vector<std::size_t> data_at;
  std::vector<std::size_t> entry_at;  // in the directory
  std::size_t directory_at = 0;
  std::size_t end_64_at = 0;  // 0 if there is none
  std::size_t locator_at = 0;
  std::size_t end_at = 0;
};

// Source: .ZIP File Format Specification (APPNOTE), 4.3 to 4.5.
BuiltZip build_zip(const ZipSpec& spec);

}  // namespace framefs::test
