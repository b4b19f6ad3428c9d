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

  // For people.
  [[nodiscard]] std::string text() const;
};

// A whole log; see record.h.
class LogReader {
 public:
  // Nothing where there is no such file, or it ends within a record.
  static std::optional<LogReader> open(const std::filesystem::path& path);

  [[nodiscard]] const std::vector<Record>& records() const { return records_; }

 private:
  LogReader() = default;

  Bytes bytes_;
  std::vector<Record> records_;
};

}  // namespace framefs::test
