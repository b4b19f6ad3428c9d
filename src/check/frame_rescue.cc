#include "src/check/frame_rescue.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/parse_number.h"
#include "fs/core/file.h"
#include "fs/source/chunk_files.h"
#include "fs/source/sparse_frame.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;
using codec::Result;

// Returns the number in the name of a chunk file, "0000002A.chunk".
std::optional<std::uint32_t> number_of(const std::string& name) {
  const auto id = codec::parse_number<std::uint32_t>(name.substr(0, name.find('.')), 16);
  if (!id || fs::ChunkFiles::name_of(*id) != name) return std::nullopt;
  return id;
}

std::vector<std::uint32_t> chunk_numbers(const stdfs::path& folder) {
  std::vector<std::uint32_t> ids;
  std::error_code none;
  for (const auto& entry : stdfs::directory_iterator(folder, none)) {
    if (const auto id = number_of(entry.path().filename().string())) ids.push_back(*id);
  }
  std::ranges::sort(ids);
  return ids;
}

Result<fs::UniqueFd> open_for_reading(const stdfs::path& path, int flags) {
  fs::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!fd) return fs::system_error("open");
  return fd;
}

// Opens the file of a contiguous frame, or the index file of a sparse frame.  A missing index file
// reads as an empty file.
Result<fs::UniqueFd> open_frame_file(const stdfs::path& from, bool is_sparse) {
  if (!is_sparse) return open_for_reading(from, O_NONBLOCK);
  auto index = open_for_reading(from / fs::kSparseIndexName, O_NONBLOCK);
  if (!index && index.error().sys == ENOENT) return open_for_reading("/dev/null", 0);
  return index;
}

}  // namespace

Result<Rescued> rescue_frame(const stdfs::path& from, const stdfs::path& to,
                             const RescueOptions& options, const codec::SalvageProgress& progress) {
  const codec::Limits limits;
  std::error_code none;
  const bool is_sparse = stdfs::is_directory(from, none);
  auto fd = open_frame_file(from, is_sparse);
  if (!fd) return std::unexpected(fd.error());
  FRAMEFS_TRY(const auto st, fs::stat_of(fd->get()));
  const fs::FileReader file(std::move(*fd));
  const auto searched = static_cast<std::uint64_t>(st.st_size);
  const auto writing = [&](std::uint64_t) { return progress(searched); };
  Rescued rescued;
  if (!is_sparse) {
    FRAMEFS_TRY(rescued.plan, codec::plan_salvage(file, limits, progress));
    FRAMEFS_TRY(auto target, ReplacementFile::create(to, options.may_replace));
    target.replaces_frame(options.locking);
    FRAMEFS_TRY(rescued.length, codec::write_salvaged(rescued.plan, file, target.sink(), writing));
    FRAMEFS_CHECK(target.publish(st));
    return rescued;
  }
  FRAMEFS_TRY(auto folder, open_for_reading(from, O_DIRECTORY));
  const fs::ChunkFiles chunks(std::move(folder));
  const auto ids = chunk_numbers(from);
  FRAMEFS_TRY(rescued.plan, codec::plan_sparse_salvage(file, chunks, ids, limits, progress));
  FRAMEFS_TRY(auto target, ReplacementFile::create(to, options.may_replace));
  target.replaces_frame(options.locking);
  FRAMEFS_TRY(rescued.length, codec::write_salvaged(rescued.plan, chunks, target.sink(), writing));
  FRAMEFS_CHECK(target.publish(S_ISREG(st.st_mode) ? std::optional(st) : std::nullopt));
  return rescued;
}

}  // namespace framefs
