#include "fs/write/frame_edit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "codec/core/limits.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/frame_writer.h"
#include "fs/core/chunk_files.h"
#include "fs/write/contiguous_backend.h"
#include "fs/write/edit_params.h"
#include "fs/write/sparse_backend.h"

namespace framefs::fs {
namespace {

// Of a frame that was written without one, as its first chunk never came.
constexpr std::uint32_t kDefaultChunksize = 4u << 20;
// Chunks that are stored without a commit, at a time: whoever wants to commit waits for no more.
constexpr std::size_t kFlushedChunks = 8;
// More, and the reference library will not write to the frame again.  Source: frame format, "Trailer".
constexpr std::size_t kMostVlmetalayers = 16;
// Less dead space than that is not worth anybody's time.
constexpr std::uint64_t kLeastCompactedBytes = 1u << 20;

timespec now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time;
}

Result<std::vector<codec::NamedContent>> read_vlmetalayers(const FrameOrigin& origin,
                                                           const codec::Frame& frame) {
  std::vector<codec::NamedContent> layers;
  for (const auto& layer : frame.vlmetalayers()) {
    FRAMEFS_TRY(auto content, codec::Frame::read_metalayer(*origin.source, layer));
    layers.push_back({layer.name, std::move(content)});
  }
  return layers;
}

Result<FrameOrigin> origin_of(const EditSource& source) {
  if (source.file) return contiguous_origin(source.file, source.name);
  UniqueFd index(::openat(source.directory.get(), kSparseIndexName.data(),
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!index) return system_error("open");
  UniqueFd directory(::fcntl(source.directory.get(), F_DUPFD_CLOEXEC, 0));
  if (!directory) return system_error("dup");
  return FrameOrigin{.type = codec::FrameType::sparse,
                     .source = std::make_shared<const FileSource>(std::move(index)),
                     .chunks = std::make_shared<const ChunkFiles>(std::move(directory)),
                     .name = source.name};
}

Status check_editable(const codec::Frame& frame) {
  const auto& header = frame.header();
  if (header.layout == codec::FrameLayout::beta) {
    return codec::fail(Errc::unsupported, "writing to a frame of the betas");
  }
  if (header.has_variable_chunks()) {
    return codec::fail(Errc::unsupported, "writing to a frame of chunks that vary in size");
  }
  if (frame.chunk_count() > FrameImage::kMostChunks) {
    return codec::fail_value(Errc::over_limit, "number of chunks", 0,
                             static_cast<std::int64_t>(frame.chunk_count()));
  }
  return {};
}

std::uint32_t chunksize_of(const codec::FrameHeader& header) {
  const bool is_set = header.chunksize > 0 && header.chunksize <= codec::kMaxChunkBytes;
  if (is_set) return header.chunksize;
  return std::max(kDefaultChunksize - kDefaultChunksize % header.typesize, header.typesize);
}

}  // namespace

Result<FrameEdit::Opening> open_for_edit(EditSource source, std::uint64_t state_id,
                                         const codec::Limits& limits) {
  FRAMEFS_TRY(auto origin, origin_of(source));
  FRAMEFS_TRY(auto frame, source.bytes.empty()
                              ? open_frame_at(origin, limits)
                              : codec::Frame::open(codec::MemorySource(source.bytes), limits));
  FRAMEFS_CHECK(check_editable(frame));
  std::vector<std::int64_t> entries(frame.chunk_count());
  FRAMEFS_CHECK(frame.read_entries(*origin.source, {0}, entries));
  std::unique_ptr<FrameBackend> backend;
  if (source.file) {
    FRAMEFS_TRY(backend, ContiguousBackend::open(source.file, frame, entries, limits));
  } else {
    auto files = std::static_pointer_cast<const ChunkFiles>(origin.chunks);
    FRAMEFS_TRY(backend,
                SparseBackend::open(std::move(source.directory), std::move(files), frame, entries));
  }
  const auto chunksize = chunksize_of(frame.header());
  const auto params = edit_params(frame.header());
  return FrameEdit::Opening{.origin = std::move(origin),
                            .state_id = state_id,
                            .backend = std::move(backend),
                            .frame = std::move(frame),
                            .entries = std::move(entries),
                            .chunksize = chunksize,
                            .params = params};
}

Result<std::shared_ptr<FrameEdit>> FrameEdit::make(Opening opening, const EditServices& services) {
  FRAMEFS_TRY(auto layers, read_vlmetalayers(opening.origin, opening.frame));
  FRAMEFS_TRY(const auto st, stat_of(opening.backend->content_fd()));
  std::shared_ptr<FrameEdit> made(new FrameEdit(std::move(opening), std::move(layers), services));
  FRAMEFS_CHECK(made->set_mtime(st.st_mtim, [] { return Status(); }));
  return made;
}

FrameEdit::FrameEdit(Opening opening, std::vector<codec::NamedContent> vlmetalayers,
                     const EditServices& services)
    : services_(services),
      header_(opening.frame.header()),
      backend_(std::move(opening.backend)),
      params_(opening.params),
      settle_(std::move(opening.settle)),
      image_(std::in_place, services.overlay, opening.chunksize, opening.frame.nbytes(),
             std::move(opening.entries), opening.state_id) {
  image_.write([&](FrameImage& image) {
    image.vlmetalayers = std::move(vlmetalayers);
    edited_ = std::make_shared<const EditedFrame>(std::move(opening.origin),
                                                  std::move(opening.frame), services.reads, image);
  });
}

std::uint64_t FrameEdit::nbytes() const {
  return image_.read([](const FrameImage& image) { return image.nbytes(); });
}

timespec FrameEdit::mtime() const {
  return image_.read([](const FrameImage& image) { return image.mtime; });
}

Status FrameEdit::set_mtime(const timespec& time, const std::function<Status()>& set) {
  return image_.write([&](FrameImage& image) -> Status {
    FRAMEFS_CHECK(set());
    image.mtime = time.tv_nsec == UTIME_NOW ? now() : time;
    return {};
  });
}

// The time at which it was stored is not that at which it was written.  Who may write to a file need not
// be the one who may set its times: better that than no commit.
void FrameEdit::restore_mtime() const {
  image_.read([&](const FrameImage& image) {
    const std::array<timespec, 2> times{timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, image.mtime};
    static_cast<void>(::futimens(backend_->content_fd(), times.data()));
  });
}

bool FrameEdit::is_changed() const {
  return image_.read([](const FrameImage& image) { return image.is_changed(); });
}

Status FrameEdit::check_size(const FrameImage& image, std::uint64_t offset, std::uint64_t size) {
  if (offset <= image.most_bytes() && size <= image.most_bytes() - offset) return {};
  return codec::fail(Errc::over_limit, "size of the file", offset);
}

Result<bool> FrameEdit::write(std::span<const Piece> pieces) {
  return image_.write([&](FrameImage& image) -> Result<bool> {
    for (const auto& [offset, bytes] : pieces) {
      FRAMEFS_CHECK(check_size(image, offset, bytes.size()));
    }
    for (const auto& [offset, bytes] : pieces) image.write(offset, bytes);
    image.mtime = now();
    return image.has_full_chunks();
  });
}

Status FrameEdit::extend(std::uint64_t nbytes) {
  return image_.write([&](FrameImage& image) -> Status {
    FRAMEFS_CHECK(check_size(image, nbytes, 0));
    if (nbytes <= image.nbytes()) return {};
    image.extend(nbytes);
    image.mtime = now();
    return {};
  });
}

void FrameEdit::drop(std::span<const std::int64_t> entries) {
  for (const auto entry : entries) backend_->drop(entry);
}

// What takes stored chunks away waits for its turn: no commit is then under way that has them.
Status FrameEdit::change_in_turn(
    const std::function<std::vector<std::int64_t>(FrameImage&)>& change) {
  const auto hold = turn_.take();
  const auto dropped = image_.write([&](FrameImage& image) {
    auto entries = change(image);
    image.mtime = now();
    return entries;
  });
  drop(dropped);
  return {};
}

// Whether they are too large for a frame without chunks that is one already.
Result<bool> FrameEdit::are_large(std::span<const codec::NamedContent> vlmetalayers) const {
  FRAMEFS_TRY(const auto trailer, codec::encode_trailer(vlmetalayers));
  return trailer.size() > backend_->most_empty_trailer();
}

Status FrameEdit::truncate(std::uint64_t nbytes) {
  FRAMEFS_CHECK(image_.read([&](const FrameImage& image) { return check_size(image, nbytes, 0); }));
  if (nbytes == 0) {
    FRAMEFS_TRY(const bool needs_chunks, image_.read([&](const FrameImage& image) -> Result<bool> {
      FRAMEFS_TRY(const bool is_large, are_large(image.vlmetalayers));
      return is_large && image.nbytes() > 0;
    }));
    // What is committed has to have them first.
    if (needs_chunks) FRAMEFS_CHECK(commit(false));
  }
  return change_in_turn([&](FrameImage& image) { return image.truncate(nbytes); });
}

Status FrameEdit::zero(std::uint64_t offset, std::uint64_t size) {
  return change_in_turn([&](FrameImage& image) {
    const auto end = image.nbytes();
    if (offset >= end) return std::vector<std::int64_t>{};
    return image.zero(offset, std::min(size, end - offset));
  });
}

// What the first chunk that is not all zeros holds says how to encode it and all that follow.
Status FrameEdit::settle_params(std::span<const FrameImage::Frozen> frozen) {
  if (!settle_) return {};
  const auto plain_of = [](const FrameImage::Frozen& chunk) {
    return std::span<const std::byte>(chunk.bytes->bytes()).first(chunk.nbytes);
  };
  const auto first = std::ranges::find_if(frozen, [&](const FrameImage::Frozen& chunk) {
    return std::ranges::any_of(plain_of(chunk),
                               [](std::byte byte) { return byte != std::byte{0}; });
  });
  if (first == frozen.end()) return {};
  FRAMEFS_TRY(params_, settle_(plain_of(*first)));
  settle_ = nullptr;
  const auto chunksize = image_.read([](const FrameImage& image) { return image.chunksize(); });
  auto header = codec::frame_header_for(params_, chunksize, header_.type);
  header.header_len = header_.header_len;
  backend_->set_params(header);
  return {};
}

Status FrameEdit::store(std::vector<FrameImage::Frozen> frozen) {
  std::vector<ChunkStoring::Job> jobs;
  auto status = [&]() -> Status {
    for (const auto& chunk : frozen) {
      FRAMEFS_CHECK(reading([&] { return edited_->complete(chunk); }));
    }
    FRAMEFS_CHECK(settle_params(frozen));
    for (const auto& chunk : frozen) {
      jobs.push_back({chunk.bytes->bytes().first(chunk.nbytes)});
    }
    services_.storing.store(*backend_, params_, jobs);
    return {};
  }();
  jobs.resize(frozen.size());
  std::vector<std::int64_t> dropped;
  image_.write([&](FrameImage& image) {
    for (std::size_t i = 0; i < frozen.size(); ++i) {
      if (status && jobs[i].entry) {
        const auto id = services_.next_state.fetch_add(1, std::memory_order_relaxed);
        const auto old = image.land(frozen[i], *jobs[i].entry, id);
        if (old >= 0) dropped.push_back(old);
      } else {
        image.thaw(frozen[i]);
      }
    }
  });
  drop(dropped);
  for (const auto& job : jobs) {
    if (status && !job.entry) status = std::unexpected(job.entry.error());
  }
  return status;
}

Status FrameEdit::flush_in_turn(FrameImage::Which which) {
  if (is_removed_) return {};
  FRAMEFS_CHECK(backend_->check_usable());
  while (true) {
    auto frozen =
        image_.write([&](FrameImage& image) { return image.freeze(which, kFlushedChunks); });
    if (frozen.empty()) return {};
    FRAMEFS_CHECK(store(std::move(frozen)));
  }
}

Status FrameEdit::flush(FrameImage::Which which) {
  const auto hold = turn_.take();
  return flush_in_turn(which);
}

// Index entries cannot say that the last item of a chunk of zeros is cut off.
Result<std::int64_t> FrameEdit::store_last_zeros(std::uint64_t nbytes) {
  const auto chunksize = image_.read([](const FrameImage& image) { return image.chunksize(); });
  const std::vector<std::byte> zeros(nbytes % chunksize);
  std::array<ChunkStoring::Job, 1> job{ChunkStoring::Job{zeros}};
  services_.storing.store(*backend_, params_, job);
  if (job[0].entry) committed_only_ = *job[0].entry;
  return job[0].entry;
}

Status FrameEdit::prepare_in_turn() {
  struct Snapshot {
    std::vector<FrameImage::Frozen> frozen;
    std::uint64_t nbytes = 0;
    std::uint64_t chunk_count = 0;
    std::vector<codec::NamedContent> vlmetalayers;
  };
  auto state = image_.write([](FrameImage& image) {
    image.set_changed(false);
    return Snapshot{image.freeze(FrameImage::Which::all, std::numeric_limits<std::size_t>::max()),
                    image.nbytes(), image.chunk_count(), image.vlmetalayers};
  });
  FRAMEFS_CHECK(store(std::move(state.frozen)));
  // Entries change only in our turn; there may be more of them by now.
  auto entries = image_.read([&](const FrameImage& image) {
    const auto& all = image.entries();
    return std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(state.chunk_count));
  });
  if (committed_only_) backend_->drop(*std::exchange(committed_only_, std::nullopt));
  if (!entries.empty() && state.nbytes % params_.typesize != 0 &&
      edited_->frame()->is_zero_entry(entries.back())) {
    const auto chunksize = image_.read([](const FrameImage& image) { return image.chunksize(); });
    if (state.nbytes % chunksize != 0) {
      FRAMEFS_TRY(entries.back(), store_last_zeros(state.nbytes));
    }
  }
  return backend_->prepare({state.nbytes, entries, state.vlmetalayers});
}

Status FrameEdit::finish_in_turn(bool durably) {
  FRAMEFS_CHECK(backend_->publish());
  is_durable_ = false;
  if (durably || backend_->wants_tidying()) {
    FRAMEFS_CHECK(backend_->sync());
    is_durable_ = true;
    FRAMEFS_CHECK(backend_->tidy());
  }
  restore_mtime();
  return {};
}

Status FrameEdit::commit_in_turn(bool durably) {
  if (is_removed_) return {};
  FRAMEFS_CHECK(backend_->check_usable());
  if (!is_changed()) {
    if (!durably || is_durable_) return {};
    FRAMEFS_CHECK(backend_->sync());
    is_durable_ = true;
    return {};
  }
  auto status = prepare_in_turn();
  if (status) status = backend_->sync();
  if (status) status = finish_in_turn(durably);
  // What was not committed will be with the next one.
  if (!status) image_.write([](FrameImage& image) { image.set_changed(true); });
  return status;
}

Status FrameEdit::commit(bool durably) {
  const auto hold = turn_.take();
  return commit_in_turn(durably);
}

Result<std::optional<FrameEdit::Commit>> FrameEdit::begin_commit() {
  auto hold = turn_.take();
  if (is_removed_) return std::nullopt;
  FRAMEFS_CHECK(backend_->check_usable());
  if (!is_changed()) return std::nullopt;
  if (const auto prepared = prepare_in_turn(); !prepared) {
    image_.write([](FrameImage& image) { image.set_changed(true); });
    return std::unexpected(prepared.error());
  }
  return Commit(*this, std::move(hold));
}

Status FrameEdit::finish_commit(const Commit&, const Status& synced) {
  if (!synced) backend_->give_up();
  auto status = synced ? finish_in_turn(false) : synced;
  if (!status) image_.write([](FrameImage& image) { image.set_changed(true); });
  return status;
}

Status FrameEdit::compact(bool always) {
  const auto hold = turn_.take();
  FRAMEFS_CHECK(commit_in_turn(false));
  if (is_removed_) return {};
  struct State {
    std::uint64_t nbytes = 0;
    std::vector<std::int64_t> entries;
    std::vector<codec::NamedContent> vlmetalayers;
    bool is_changed = false;
  };
  const auto state = image_.read([](const FrameImage& image) {
    return State{image.nbytes(), image.entries(), image.vlmetalayers, image.is_changed()};
  });
  // Somebody has begun to write again, or the last chunk is stored for the committed state only.
  if (state.is_changed || committed_only_) return {};
  const auto [total, dead, is_refused] = backend_->usage(state.entries);
  const bool is_worth_it = dead >= kLeastCompactedBytes && dead >= total - dead;
  if (!is_worth_it && !is_refused && !(always && dead > 0)) return {};
  const auto moved = [this](const std::vector<std::int64_t>& entries) {
    const auto id = services_.next_state.fetch_add(1, std::memory_order_relaxed);
    image_.write([&](FrameImage& image) { image.replace_entries(entries, id); });
  };
  FRAMEFS_CHECK(backend_->compact({state.nbytes, state.entries, state.vlmetalayers}, moved));
  is_durable_ = true;
  restore_mtime();
  return {};
}

Status FrameEdit::remove(const std::function<Status()>& remove) {
  const auto hold = turn_.take();
  auto removed = remove();
  if (removed) is_removed_ = true;
  return removed;
}

void FrameEdit::wind_up() {
  const auto hold = turn_.take();
  if (!is_changed() && !is_lost() && !is_removed_) backend_->wind_up();
}

Status FrameEdit::set_vlmeta(std::string_view name,
                             std::optional<std::span<const std::byte>> content, Existing existing) {
  if (name.empty() || name.size() > codec::kMaxMetalayerName) {
    return system_error_of(ENAMETOOLONG, "setxattr");
  }
  std::vector<std::byte> stored;
  if (content) {
    FRAMEFS_TRY(stored, codec::encode_vlmetalayer(*content));
  }
  return image_.write([&](FrameImage& image) -> Status {
    auto layers = image.vlmetalayers;
    const auto at = std::ranges::find(layers, name, &codec::NamedContent::name);
    const bool is_there = at != layers.end();
    if (!content && !is_there) return system_error_of(ENODATA, "removexattr");
    if (!is_there && existing == Existing::must) return system_error_of(ENODATA, "setxattr");
    if (is_there && existing == Existing::must_not) return system_error_of(EEXIST, "setxattr");
    if (!content) {
      layers.erase(at);
    } else if (is_there) {
      at->content = std::move(stored);
    } else if (layers.size() >= kMostVlmetalayers) {
      return system_error_of(ENOSPC, "setxattr");
    } else {
      layers.push_back({std::string(name), std::move(stored)});
    }
    if (image.nbytes() == 0) {
      FRAMEFS_TRY(const bool is_large, are_large(layers));
      if (is_large) return system_error_of(ENOSPC, "setxattr");
    }
    image.vlmetalayers = std::move(layers);
    image.set_changed(true);
    return {};
  });
}

Result<std::optional<std::vector<std::byte>>> FrameEdit::vlmeta(std::string_view name) const {
  auto stored = image_.read([&](const FrameImage& image) {
    const auto at = std::ranges::find(image.vlmetalayers, name, &codec::NamedContent::name);
    return at == image.vlmetalayers.end() ? std::nullopt : std::optional(at->content);
  });
  if (!stored) return std::nullopt;
  const codec::MemorySource source(*stored);
  FRAMEFS_TRY(auto plain,
              codec::Frame::read_vlmetalayer(source, {std::string(name), {0, stored->size()}},
                                             services_.reads.limits));
  return plain;
}

std::vector<std::string> FrameEdit::vlmeta_names() const {
  return image_.read([](const FrameImage& image) {
    std::vector<std::string> names;
    for (const auto& layer : image.vlmetalayers) names.push_back(layer.name);
    return names;
  });
}

}  // namespace framefs::fs
