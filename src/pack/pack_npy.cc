#include "src/pack/pack_npy.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/write/array_packer.h"
#include "src/cli/progress_bar.h"

namespace framefs {
namespace {

// A file, which any thread may read.
class FileItems final : public fs::ArrayItems {
 public:
  explicit FileItems(const fs::FileReader& file) : file_(file) {}

  fs::Result<bool> prepare(codec::ByteRange) override { return true; }
  [[nodiscard]] fs::Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    return file_.read_at(offset, out);
  }

 private:
  const fs::FileReader& file_;
};

}  // namespace

bool is_npy_name(const std::string& name) {
  return std::filesystem::path(name).extension() == ".npy";
}

std::optional<codec::NpyHeader> find_npy_header(const fs::Place& place) {
  if (!is_npy_name(place.name())) return std::nullopt;
  auto fd = place.open(O_RDONLY | O_NONBLOCK);
  if (!fd) return std::nullopt;
  const fs::FileReader file(std::move(*fd));
  const auto st = fs::stat_of(file.fd());
  if (!st || !S_ISREG(st->st_mode)) return std::nullopt;
  return codec::read_npy_header(file);
}

codec::Result<std::optional<Packed>> pack_npy(int fd, codec::ByteSink& sink,
                                              const std::string& name, const PackOptions& options,
                                              fs::WorkerPool& pool) {
  FRAMEFS_TRY(auto own, fs::reopen(fd, O_RDONLY));
  const fs::FileReader file(std::move(own));
  const auto header = codec::read_npy_header(file);
  if (!header) return std::nullopt;
  const fs::ArrayPacking packing{.encode = options.encode,
                                 .hints = options.hints,
                                 .chunksize = options.chunksize,
                                 .checksums = options.checksums,
                                 .lanes = options.threads != 0
                                              ? options.threads
                                              : std::max(1U, std::thread::hardware_concurrency())};
  FRAMEFS_TRY(const auto plan, fs::plan_array(*header, packing));
  ProgressBar progress(name, plan.layout.chunk_count() * plan.chunk_bytes, options.quiet);
  FileItems items(file);
  FRAMEFS_TRY(const auto stored,
              fs::pack_array(items, *header, plan, packing, sink, pool, [&](std::uint64_t done) {
                progress.update(done);
                return !(options.stop && options.stop());
              }));
  return Packed{.plain = header->data_at + plan.layout.nbytes(), .stored = stored};
}

}  // namespace framefs
