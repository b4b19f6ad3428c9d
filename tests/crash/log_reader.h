#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/crash/record.h"
#include "tests/support/bytes.h"

namespace framefs::test {

struct Record {
  RecordHead head;
  std::string path;
  std::string path2;
  std::span<const std::byte> data;

  // For messages.
  [[nodiscard]] std::string text() const;
};

// A complete log; see record.h.
class LogReader {
 public:
  // Nothing if there is no such file, or if it ends within a record.
  static std::optional<LogReader> open(const std::filesystem::path& path);

  [[nodiscard]] const std::vector<Record>& records() const { return records_; }

 private:
  LogReader() = default;

  Bytes bytes_;
  std::vector<Record> records_;
};

}  // namespace framefs::test
