#include "src/pack/spooled_input.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/file_sink.h"
#include "src/pack/pack_input.h"
#include "src/pack/temporary_folder.h"

namespace framefs {
namespace {

constexpr std::size_t kSpoolPieceBytes = 1u << 20;

// Source: container format, "Archives".
bool begins_archive(std::span<const std::byte> head) {
  constexpr std::array kMagic = {std::byte{'P'}, std::byte{'K'}};
  return head.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), head.begin());
}

fs::Result<std::filesystem::path> make_private_directory() {
  auto text = temporary_folder() + "/framefs-unpack.XXXXXX";
  if (::mkdtemp(text.data()) == nullptr) return fs::system_error("temporary directory");
  return std::filesystem::path(text);
}

}  // namespace

fs::Result<SpooledInput> SpooledInput::read(std::function<bool()> stop) {
  FRAMEFS_TRY(auto input, PackInput::standard_input(std::move(stop)));
  std::vector<std::byte> buffer(kSpoolPieceBytes);
  FRAMEFS_TRY(auto piece, input.next(buffer));
  const bool is_archive = begins_archive(std::span(buffer).first(piece.size));
  FRAMEFS_TRY(const auto folder, make_private_directory());
  SpooledInput spooled(folder / (is_archive ? "stdin.b2z" : "stdin"));
  fs::UniqueFd fd(::open(spooled.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return fs::system_error("temporary file");
  fs::FileSink sink(std::move(fd));
  std::uint64_t at = 0;
  while (piece.size > 0) {
    FRAMEFS_CHECK(sink.write_at(at, std::span(buffer).first(piece.size)));
    at += piece.size;
    FRAMEFS_TRY(piece, input.next(buffer));
  }
  return spooled;
}

fs::Result<fs::Place> SpooledInput::place() const {
  FRAMEFS_TRY(const auto place, fs::Place::given(path_.parent_path()));
  FRAMEFS_TRY(auto folder, place.open_directory());
  return fs::Place(std::move(folder), path_.filename().string(), "standard input");
}

SpooledInput::SpooledInput(SpooledInput&& other) noexcept
    : path_(std::exchange(other.path_, std::filesystem::path())) {}

SpooledInput::~SpooledInput() {
  if (path_.empty()) return;
  ::unlink(path_.c_str());
  ::rmdir(path_.parent_path().c_str());
}

}  // namespace framefs
