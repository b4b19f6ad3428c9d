#include "src/demo/cmd_demo.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/place.h"
#include "src/cli/arguments.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/text_output.h"
#include "src/demo/demo_data.h"
#include "src/pack/pack_file.h"
#include "src/pack/pack_input.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

void add_options(CLI::App& app, std::string& directory) {
  app.add_option("DIR", directory, "A directory that is empty or does not exist yet")->required();
}

codec::Status write_plain(const fs::Place& place, const std::string& content) {
  FRAMEFS_TRY(auto file, ReplacementFile::create(place, false));
  FRAMEFS_CHECK(file.sink().write_at(0, std::as_bytes(std::span(content))));
  return file.publish(std::nullopt);
}

// Makes the directories of a path below the top.
codec::Status make_directories(const fs::Tree& top, const std::string& path) {
  for (auto end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    FRAMEFS_TRY(const auto directory, top.place(path.substr(0, end)));
    FRAMEFS_CHECK(directory.make_directory());
  }
  return {};
}

codec::Status make_file(const fs::Tree& top, const DemoFile& demo, fs::WorkerPool& pool) {
  FRAMEFS_CHECK(make_directories(top, demo.path));
  FRAMEFS_TRY(const auto place, top.place(demo.path));
  FRAMEFS_CHECK(write_plain(place, demo.content));
  if (!demo.is_packed) return {};
  PackOptions options;
  options.quiet = true;
  options.verify = true;
  FRAMEFS_TRY(auto input, PackInput::open_file(place, {}));
  FRAMEFS_CHECK(pack_file(input, place.beside(packed_name(place)), options, pool));
  if (::unlinkat(place.directory(), place.name().c_str(), 0) != 0) {
    return fs::system_error("remove");
  }
  return {};
}

constexpr CommandLine<std::string> kDemoCommandLine{
    .name = "framefs demo",
    .about = "Makes a small sample dataset of frames.",
    .add_options = add_options};

}  // namespace

CommandSyntax demo_syntax() { return kDemoCommandLine.syntax(); }

int run_demo(std::span<const std::string> arguments) {
  const auto directory = kDemoCommandLine.parse(arguments);
  if (!directory) return directory.error();
  std::error_code error;
  stdfs::create_directories(*directory, error);
  const bool is_free = !error && stdfs::is_empty(*directory, error) && !error;
  if (!is_free) {
    const auto why = error ? error.message() : std::string("the directory is not empty");
    print_messages({fmt::format("{}: {}", *directory, why)});
    return kExitFailure;
  }
  const auto top = fs::Tree::open(*directory);
  if (!top) {
    print_messages({failure_text(*directory, top.error())});
    return kExitFailure;
  }
  fs::WorkerPool pool(0);
  for (const auto& file : demo_files()) {
    if (const auto made = make_file(*top, file, pool); !made) {
      print_messages({fmt::format("{}/{}: {}", *directory, file.path, fs::describe(made.error()))});
      return kExitFailure;
    }
  }
  TextOutput out;
  out.put(fmt::format("{0} is ready; {0}/README.txt says what to try\n", *directory));
  return out.end() ? kExitOk : kExitFailure;
}

}  // namespace framefs
