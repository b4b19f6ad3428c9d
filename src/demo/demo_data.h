#pragma once

#include <string>
#include <vector>

namespace framefs {

// One plain file of the sample dataset.
struct DemoFile {
  std::string path;  // relative to DIR
  std::string content;
  bool is_packed = true;
};

// Returns logs, tables, arrays and a text with commands to try.  Every call returns the same bytes.
std::vector<DemoFile> demo_files();

}  // namespace framefs
