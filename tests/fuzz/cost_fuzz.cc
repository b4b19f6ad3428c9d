// Intent: any bytes as a frame, an array or the files of a sparse frame.  No request costs much
// more than what it asks for, whatever the bytes: the work that the product charges, CPU time and
// memory stay below a bound for each request and for each byte asked for.

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "codec/core/byte_source.h"
#include "codec/core/work_budget.h"
#include "codec/frame/frame.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/source/frame_origin.h"
#include "src/check/frame_checker.h"
#include "tests/fuzz/cost_meter.h"
#include "tests/fuzz/frame_checks.h"
#include "tests/fuzz/fuzz_mount.h"
#include "tests/fuzz/sparse_input.h"
#include "tests/support/sparse_frame_builder.h"

// A sanitizer tells of every allocation, also of those in libraries.  Without one, the operators
// count what C++ allocates.
extern "C" {
using MallocHook = void (*)(const volatile void*, std::size_t);
using FreeHook = void (*)(const volatile void*);
[[gnu::weak]] int __sanitizer_install_malloc_and_free_hooks(MallocHook, FreeHook);
[[gnu::weak]] std::size_t __sanitizer_get_allocated_size(const volatile void*);
}

namespace {

bool has_hooks() { return &__sanitizer_install_malloc_and_free_hooks != nullptr; }

void* allocate(std::size_t size) noexcept {
  void* const memory = std::malloc(size);
  if (memory != nullptr && !has_hooks()) {
    framefs::fuzz::counted_memory.add(static_cast<std::int64_t>(::malloc_usable_size(memory)));
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(size);
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr && !has_hooks()) {
    framefs::fuzz::counted_memory.add(-static_cast<std::int64_t>(::malloc_usable_size(memory)));
  }
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace {

bool count_allocations() {
  if (!has_hooks()) return false;
  __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t size) {
        framefs::fuzz::counted_memory.add(static_cast<std::int64_t>(size));
      },
      [](const volatile void* memory) {
        if (memory == nullptr) return;
        const auto size = __sanitizer_get_allocated_size(memory);
        framefs::fuzz::counted_memory.add(-static_cast<std::int64_t>(size));
      });
  return true;
}

using namespace framefs;
using fuzz::demand;
using fuzz::is_fair;

// The work that a request is allowed.  A mount allows 2 GiB, and as much for each byte.
constexpr std::uint64_t kUnitsPerRequest = 16u << 20;
constexpr std::uint64_t kUnitsPerByte = 1024;
// A unit takes a few nanoseconds, and with a sanitizer up to a hundred.
constexpr double kSecondsPerRequest = 2;
constexpr double kSecondsPerUnit = 100e-9;
// The cache, the overlay, and a few of the largest structures of a frame.
constexpr std::uint64_t kMemoryPerRequest =
    fuzz::FuzzMount::kCacheBytes + fuzz::FuzzMount::kOverlayBytes + 16 * fuzz::kMaxDecodedBytes;
constexpr std::uint64_t kMemoryPerByte = 64;

constexpr std::uint64_t kMaxReadBytes = 16u << 10;
// A writer may keep a chunk, or refuse it if it is too large.  Between the two, the target would
// only show that large chunks take long.
constexpr std::uint64_t kMaxWrittenChunk = 1u << 20;
constexpr std::uint64_t kMinRefusedChunk = 256u << 20;
constexpr std::uint64_t kMaxWrittenChunks = 64u << 10;
constexpr int kMaxCheckedBatches = 16;

// The bound of a request for `bytes`, which is also allowed as much work while it lives.
class Bounded {
 public:
  explicit Bounded(std::uint64_t bytes)
      : budget_(units_of(bytes), nullptr), scope_(&budget_), meter_(bound_of(bytes)) {}

  static fuzz::CostBound bound_of(std::uint64_t bytes) {
    return {
        .memory_bytes = kMemoryPerRequest + bytes * kMemoryPerByte,
        .cpu_seconds = kSecondsPerRequest + static_cast<double>(units_of(bytes)) * kSecondsPerUnit};
  }

 private:
  static std::uint64_t units_of(std::uint64_t bytes) {
    return kUnitsPerRequest + bytes * kUnitsPerByte;
  }

  codec::WorkBudget budget_;
  const codec::WorkScope scope_;
  const fuzz::CostMeter meter_;
};

fuzz::FuzzMount& mount() {
  static fuzz::FuzzMount mount(false);
  return mount;
}

// One input as a file of the mount, and requests for it.
class Requests {
 public:
  // `script` has two bytes for each request: what, and where in the file.
  Requests(std::string name, std::span<const std::byte> script)
      : path_(mount().folder().path() / name), script_(script) {}

  void run() const {
    for (std::size_t i = 0; i + 1 < script_.size(); i += 2) {
      // Bytes that are all zero, as most writers leave them, stand for one request of each kind.
      const auto kind = std::to_integer<std::size_t>(script_[i]) + i / 2;
      request(kind % kKinds, std::to_integer<std::uint64_t>(script_[i + 1]));
    }
  }

 private:
  static constexpr std::size_t kKinds = 8;

  void request(std::size_t kind, std::uint64_t place) const {
    if (kind == 7) return check();
    const auto found = list();
    for (const auto& [id, size] : found) {
      const auto offset = place * (size / 256) + place * (size % 256) / 256;
      const auto rest = size - std::min(size, offset);
      switch (kind) {
        case 0:
          read(id, offset, std::min<std::uint64_t>(rest, 1 + place), 1);
          break;
        case 1:
          read(id, offset, std::min(rest, kMaxReadBytes), 1);
          break;
        case 2:
          read(id, offset, std::min<std::uint64_t>(rest, 4096), 4);
          break;
        case 3:
          seek(id, fs::Seek::hole, offset);
          break;
        case 4:
          seek(id, fs::Seek::data, offset);
          break;
        case 5: {
          const Bounded bounded(0);
          mount().read_attributes(id);
          break;
        }
        default:
          write(id, offset);
          break;
      }
      mount().filesystem().tree().forget(id, 1);
    }
  }

  struct Found {
    fs::NodeId id;
    std::uint64_t size = 0;
  };
  // The files that the mount shows.
  static std::vector<Found> list() {
    const Bounded bounded(0);
    std::vector<Found> files;
    auto& tree = mount().filesystem().tree();
    const auto opened = tree.open_directory(fs::kRootNode);
    if (!is_fair(opened)) return files;
    const auto entries = tree.list(**opened);
    if (!is_fair(entries)) return files;
    for (const auto& entry : *entries) {
      const auto found = tree.lookup(fs::kRootNode, entry.shown.name);
      if (!is_fair(found)) continue;
      if (S_ISREG(found->stat.st_mode)) {
        files.push_back({found->id, static_cast<std::uint64_t>(found->stat.st_size)});
      } else {
        tree.forget(found->id, 1);
      }
    }
    return files;
  }

  template <class Body>
  static void with_open(fs::NodeId id, int flags, const Body& body) {
    auto& contents = mount().filesystem().contents();
    const auto opened = contents.open(id, flags);
    if (!is_fair(opened)) return;
    // The kernel reads a plain file without the daemon's help.
    if (opened->file->node->key.has_view()) body(contents, *opened->file);
    contents.close(*opened->file);
  }

  static void read(fs::NodeId id, std::uint64_t offset, std::uint64_t size, int times) {
    const Bounded bounded(size * static_cast<std::uint64_t>(times));
    with_open(id, O_RDONLY, [&](fs::FileContents& /*contents*/, fs::OpenFile& file) {
      for (int i = 0; i < times; ++i, offset += size) {
        static_cast<void>(mount().read(file, offset, size));
      }
    });
  }

  static void seek(fs::NodeId id, fs::Seek what, std::uint64_t offset) {
    const Bounded bounded(0);
    with_open(id, O_RDONLY, [&](fs::FileContents& contents, fs::OpenFile& file) {
      is_fair(contents.seek(file, what, offset));
    });
  }

  // The work of writes is not limited, and a writer keeps the index.
  void write(fs::NodeId id, std::uint64_t offset) const {
    auto bound = Bounded::bound_of(0);
    if (const auto frame = open_frame()) {
      const std::uint64_t chunksize = frame->header().chunksize;
      const bool is_refused = chunksize > kMinRefusedChunk;
      if (chunksize > kMaxWrittenChunk && !is_refused) return;
      if (frame->chunk_count() > kMaxWrittenChunks) return;
      constexpr std::uint64_t kBytesPerChunk = 64;
      bound.memory_bytes += frame->chunk_count() * kBytesPerChunk;
      if (!is_refused) bound.memory_bytes += 2 * chunksize;
    }
    const fuzz::CostMeter meter(bound);
    with_open(id, O_RDWR, [&](fs::FileContents& /*contents*/, fs::OpenFile& file) {
      auto& changes = mount().filesystem().changes();
      const std::array byte = {std::byte{'x'}};
      if (is_fair(changes.write(file, offset, byte))) is_fair(changes.sync(file, false));
    });
    static_cast<void>(mount().filesystem().commit_all());
  }

  [[nodiscard]] std::optional<fs::FrameOrigin> open_origin() const {
    const bool is_sparse = std::filesystem::is_directory(path_);
    const fs::UniqueFd folder(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    auto index = fs::UniqueFd(
        ::open((is_sparse ? path_ / "chunks.b2frame" : path_).c_str(), O_RDONLY | O_CLOEXEC));
    if (!index) return std::nullopt;
    auto source = std::make_shared<const fs::FileReader>(std::move(index));
    if (!is_sparse) return fs::contiguous_origin(std::move(source), path_.filename());
    auto origin = fs::sparse_origin(folder.get(), std::move(source), path_.filename());
    if (!is_fair(origin)) return std::nullopt;
    return std::move(*origin);
  }

  [[nodiscard]] std::optional<codec::Frame> open_frame() const {
    const auto origin = open_origin();
    if (!origin) return std::nullopt;
    auto frame = fs::open_frame_at(*origin, fuzz::small_limits());
    if (!frame) return std::nullopt;
    return std::move(*frame);
  }

  // `framefs check`, which ends early here because it decodes all chunks.
  void check() const {
    static fs::WorkerPool pool(2);
    const Bounded bounded(0);
    const auto origin = open_origin();
    if (!origin) return;
    int batches = 0;
    FrameChecker(pool, fuzz::small_limits())
        .check(
            *origin, [](const Damage&) {},
            [&](std::uint64_t, std::uint64_t) { return ++batches < kMaxCheckedBatches; });
  }

  const std::filesystem::path path_;
  const std::span<const std::byte> script_;
};

}  // namespace

// The requests are the last bytes of the input: those of a frame are its fingerprint, which no
// reader looks at.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kScriptBytes = 16;
  static std::uint64_t inputs = 0;
  [[maybe_unused]] static const bool kHasHooks = count_allocations();
  const auto bytes = std::as_bytes(std::span(data, size));
  // A char may be read for any byte.
  const std::string_view text(reinterpret_cast<const char*>(data),
                              std::min<std::size_t>(size, 512));
  const bool is_array = text.find("b2nd") != std::string_view::npos;
  // No input meets a node or a cached block of an earlier one.
  const auto name = std::to_string(++inputs) + (is_array ? ".b2nd" : ".b2frame");
  const auto path = mount().folder().path() / name;
  if (text.starts_with("\x9e\xa8")) {
    mount().folder().write(name, bytes);
  } else {
    test::write_sparse_frame(path, fuzz::take_sparse_frame(bytes));
  }
  Requests(name, bytes.last(std::min(size, kScriptBytes))).run();
  std::filesystem::remove_all(path);
  return 0;
}
