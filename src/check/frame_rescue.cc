#include "src/check/frame_rescue.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/parse_number.h"
#include "fs/core/files/file.h"
#include "fs/source/chunk_files.h"
#include "fs/source/sparse_frame.h"
#include "src/cli/tree_walk.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

using codec::Result;

// Returns the number in the name of a chunk file, "0000002A.chunk".
std::optional<std::uint32_t> number_of(const std::string& name) {
  const auto id = codec::parse_number<std::uint32_t>(name.substr(0, name.find('.')), 16);
  if (!id || fs::ChunkFiles::name_of(*id) != name) return std::nullopt;
  return id;
}

std::vector<std::uint32_t> chunk_numbers(int directory) {
  std::vector<std::uint32_t> ids;
  for (const auto& name : names_in(directory).value_or(std::vector<std::string>())) {
    if (const auto id = number_of(name)) ids.push_back(*id);
  }
  std::ranges::sort(ids);
  return ids;
}

// Opens the index file of a sparse frame.  A missing index file reads as an empty file.
Result<fs::UniqueFd> open_index(const fs::Place& frame) {
  FRAMEFS_TRY(auto directory, frame.open_directory());
  const fs::Place index(std::move(directory), fs::kSparseIndexName, frame.path());
  auto fd = index.open(O_RDONLY | O_NONBLOCK);
  if (fd || fd.error().sys != ENOENT) return fd;
  fs::UniqueFd empty(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!empty) return fs::system_error("open");
  return empty;
}

}  // namespace

Result<Rescued> rescue_frame(const fs::Place& from, const fs::Place& to,
                             const RescueOptions& options, const codec::SalvageProgress& progress) {
  const codec::Limits limits;
  FRAMEFS_TRY(auto opened, from.open(O_RDONLY | O_NONBLOCK));
  FRAMEFS_TRY(auto st, fs::stat_of(opened.get()));
  const bool is_sparse = S_ISDIR(st.st_mode);
  fs::UniqueFd folder;
  if (is_sparse) {
    folder = std::move(opened);
    FRAMEFS_TRY(opened, open_index(from));
    FRAMEFS_TRY(st, fs::stat_of(opened.get()));
  }
  const fs::FileReader file(std::move(opened));
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
  const auto ids = chunk_numbers(folder.get());
  const fs::ChunkFiles chunks(std::move(folder));
  FRAMEFS_TRY(rescued.plan, codec::plan_sparse_salvage(file, chunks, ids, limits, progress));
  FRAMEFS_TRY(auto target, ReplacementFile::create(to, options.may_replace));
  target.replaces_frame(options.locking);
  FRAMEFS_TRY(rescued.length, codec::write_salvaged(rescued.plan, chunks, target.sink(), writing));
  FRAMEFS_CHECK(target.publish(S_ISREG(st.st_mode) ? std::optional(st) : std::nullopt));
  return rescued;
}

}  // namespace framefs
