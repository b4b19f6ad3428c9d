#include "src/demo/cmd_demo.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/core/error_map.h"
#include "fs/core/file.h"
#include "src/cli/arguments.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/text_output.h"
#include "src/demo/demo_data.h"
#include "src/pack/pack_file.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

void add_options(CLI::App& app, std::string& directory) {
  app.add_option("DIR", directory, "A directory that is empty or does not exist yet")->required();
}

codec::Status write_plain(const stdfs::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) return fs::system_error("write");
  return {};
}

codec::Status make_file(const stdfs::path& top, const DemoFile& demo, fs::WorkerPool& pool) {
  const auto path = top / demo.path;
  std::error_code error;
  stdfs::create_directories(path.parent_path(), error);
  if (error) return fs::system_error_of(error.value(), "mkdir");
  FRAMEFS_CHECK(write_plain(path, demo.content));
  if (!demo.is_packed) return {};
  PackOptions options;
  options.quiet = true;
  options.verify = true;
  FRAMEFS_TRY([[maybe_unused]] const auto packed,
              pack_file(path, path.parent_path() / packed_name(path), options, pool));
  stdfs::remove(path, error);
  if (error) return fs::system_error_of(error.value(), "remove");
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
  fs::WorkerPool pool(0);
  for (const auto& file : demo_files()) {
    if (const auto made = make_file(*directory, file, pool); !made) {
      print_messages({fmt::format("{}/{}: {}", *directory, file.path, fs::describe(made.error()))});
      return kExitFailure;
    }
  }
  TextOutput out;
  out.put(fmt::format("{0} is ready; {0}/README.txt says what to try\n", *directory));
  return out.end() ? kExitOk : kExitFailure;
}

}  // namespace framefs
