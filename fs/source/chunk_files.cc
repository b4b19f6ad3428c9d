#include "fs/source/chunk_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>

#include <fmt/core.h>

#include "codec/frame/chunk_space.h"
#include "fs/source/shown_access.h"

namespace framefs::fs {
namespace {

// Enough for a few readers, each of which reads one chunk at a time.
constexpr std::size_t kKeptOpen = 8;
// An object costs no descriptor, and opening it costs a round trip.
constexpr std::size_t kKeptOpenFar = 64;

Result<ChunkFiles::Opened> open_in(int directory, std::uint32_t id, const FileReader* index) {
  // O_NONBLOCK: a fifo in place of the chunk file must not block a reader.
  auto fd =
      open_quietly(directory, ChunkFiles::name_of(id).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  // ENXIO: a socket.
  const bool is_absent = errno == ENOENT || errno == ELOOP || errno == ENXIO;
  if (!fd) return is_absent ? ChunkFiles::damaged(id) : system_error("open");
  FRAMEFS_TRY(const auto st, stat_of(fd.get()));
  if (!S_ISREG(st.st_mode)) return ChunkFiles::damaged(id);
  // The mount shows only the rights to the index, so each chunk file must grant at least those.
  // They are the rights of the file that was read: its name may lead to another one by now.
  if (index != nullptr) {
    FRAMEFS_TRY(const auto granted, stat_of(index->fd()));
    if (!grants_reading(st, granted)) return system_error_of(EACCES, "chunk file");
  }
  return std::make_shared<const FileReader>(std::move(fd));
}

}  // namespace

ChunkFiles::ChunkFiles(Open open, std::size_t kept_open) : open_(std::move(open)) {
  recent_.with([&](Recent& recent) { recent.files.resize(kept_open); });
}

ChunkFiles::ChunkFiles(UniqueFd directory, std::shared_ptr<const FileReader> index)
    : index_(std::make_shared<Index>(std::in_place, std::move(index))),
      open_([folder = std::make_shared<const UniqueFd>(std::move(directory)),
             index = index_](std::uint32_t id) {
        const auto now = index->with([](const auto& file) { return file; });
        return open_in(folder->get(), id, now.get());
      }) {
  recent_.with([&](Recent& recent) { recent.files.resize(kKeptOpen); });
}

std::shared_ptr<const ChunkFiles> ChunkFiles::far(Open open) {
  return std::shared_ptr<const ChunkFiles>(new ChunkFiles(std::move(open), kKeptOpenFar));
}

void ChunkFiles::follow(std::shared_ptr<const FileReader> index) const {
  index_->with([&](auto& file) { file.swap(index); });  // closed after the lock
}

std::string ChunkFiles::name_of(std::uint32_t id) { return fmt::format("{:08X}.chunk", id); }

std::unexpected<Error> ChunkFiles::damaged(std::uint32_t id) {
  return codec::fail_value(Errc::bad_field, "chunk file", 0, id);
}

auto ChunkFiles::open_file(std::uint32_t id) const -> Opened {
  return recent_.with([id](const Recent& recent) -> Opened {
    if (const auto lasting = recent.lasting.find(id); lasting != recent.lasting.end()) {
      return lasting->second;
    }
    const auto at = std::ranges::find_if(
        recent.files, [id](const Kept& kept) { return kept.file && kept.id == id; });
    return at == recent.files.end() ? nullptr : at->file;
  });
}

Result<ChunkFiles::Opened> ChunkFiles::file(std::uint32_t id) const {
  if (auto known = open_file(id)) return known;
  FRAMEFS_TRY(auto opened, open_(id));
  Opened dropped;  // closed after the lock
  recent_.with([&](Recent& recent) {
    auto& place = recent.files[recent.next++ % recent.files.size()];
    dropped = std::exchange(place, {id, opened}).file;
  });
  return opened;
}

Status ChunkFiles::keep_open(std::uint32_t id) const {
  FRAMEFS_TRY(auto opened, file(id));
  recent_.with([&](Recent& recent) { recent.lasting.emplace(id, std::move(opened)); });
  return {};
}

void ChunkFiles::forget(std::uint32_t id) const {
  Opened dropped;  // closed after the lock
  recent_.with([&](Recent& recent) {
    for (auto& kept : recent.files) {
      if (kept.file && kept.id == id) dropped = std::exchange(kept.file, nullptr);
    }
  });
}

Status ChunkFiles::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  const auto place = codec::chunk_file_place(offset);
  FRAMEFS_TRY(const auto opened, file(place.id));
  return opened->read_at(place.offset, out);
}

void ChunkFiles::expect(std::span<const codec::ByteRange> now,
                        std::span<const codec::ByteRange> next) const {
  struct Wanted {
    std::vector<codec::ByteRange> now;
    std::vector<codec::ByteRange> next;
  };
  std::map<std::uint32_t, Wanted> files;
  for (const auto& [offset, size] : now) {
    const auto place = codec::chunk_file_place(offset);
    files[place.id].now.push_back({place.offset, size});
  }
  for (const auto& [offset, size] : next) {
    const auto place = codec::chunk_file_place(offset);
    files[place.id].next.push_back({place.offset, size});
  }
  for (const auto& [id, wanted] : files) {
    if (const auto file = open_file(id)) file->expect(wanted.now, wanted.next);
  }
}

Result<std::uint64_t> ChunkFiles::size() const {
  return std::numeric_limits<std::uint64_t>::max();  // unknown
}

Result<std::uint64_t> ChunkFiles::available_from(std::uint64_t offset) const {
  const auto place = codec::chunk_file_place(offset);
  FRAMEFS_TRY(const auto opened, file(place.id));
  return opened->available_from(place.offset);
}

}  // namespace framefs::fs
