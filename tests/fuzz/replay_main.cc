// Runs stored inputs through a fuzz target without libFuzzer, so that every ordinary build repeats
// what fuzzing found, with the sanitizer of that build.
//
//   NAME_fuzz FILE_OR_FOLDER...
//
// Prints the name of each input on stderr before it runs, so that the last line names the input
// that crashed.  Exit code: 0, or 2 if there was no input or one could not be read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace stdfs = std::filesystem;

// The regular files in `roots` and below them, in an order that does not depend on the machine.
std::optional<std::vector<stdfs::path>> find_inputs(std::span<char* const> roots) {
  std::vector<stdfs::path> inputs;
  for (const char* root : roots) {
    std::error_code error;
    if (stdfs::is_regular_file(root, error)) {
      inputs.emplace_back(root);
      continue;
    }
    stdfs::recursive_directory_iterator at(root, error);
    for (; !error && at != stdfs::recursive_directory_iterator(); at.increment(error)) {
      if (at->is_regular_file(error)) inputs.push_back(at->path());
    }
    if (error) {
      std::fprintf(stderr, "%s: %s\n", root, error.message().c_str());
      return std::nullopt;
    }
  }
  std::ranges::sort(inputs);
  return inputs;
}

std::optional<std::vector<std::uint8_t>> read_whole(const stdfs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in) return std::nullopt;
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const auto inputs = find_inputs(arguments.subspan(std::min<std::size_t>(1, arguments.size())));
  if (!inputs) return 2;
  for (const auto& path : *inputs) {
    std::fprintf(stderr, "replaying %s\n", path.c_str());
    const auto bytes = read_whole(path);
    if (!bytes) {
      std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
      return 2;
    }
    static_cast<void>(LLVMFuzzerTestOneInput(bytes->data(), bytes->size()));
  }
  std::printf("%zu inputs replayed\n", inputs->size());
  return inputs->empty() ? 2 : 0;
}
