// Replays stored inputs through a fuzz target where libFuzzer is not at hand: every ordinary build
// runs what fuzzing once found, under whatever sanitizer that build has.
//
//   NAME_fuzz FILE_OR_FOLDER...
//
// Names each input on stderr before it runs, so that the last line tells which one a crash is due
// to.  Exit code: 0, or 2 where nothing was found to replay or something could not be read.

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

// The regular files named by or lying below `roots`, in an order that does not depend on the
// machine.
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
