#include "fs/view/array_view.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fs/core/diagnostics/error_map.h"
#include "tests/support/array_metalayer.h"
#include "tests/support/catch.h"
#include "tests/support/fetched_layers.h"
#include "tests/support/memory_chunks.h"
#include "tests/support/random_seed.h"
#include "tests/support/sparse_frame_builder.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/array_samples.h"
#include "tests/unit/fs/view_mount.h"

namespace framefs::fs::array_view_test {
namespace {

using test::ArraySample;
using test::ArraySpec;
using test::Bytes;
using test::read;
using test::SharedSource;
using Header = ArrayView::Header;

class Mount : public test::ViewMount {
 public:
  using ViewMount::ViewMount;
  std::shared_ptr<const ArrayView> view(std::shared_ptr<const CachedFrame> frame,
                                        Header header = Header::none) const {
    return std::make_shared<const ArrayView>(std::move(frame), header, budget());
  }
  std::shared_ptr<const ArrayView> view(const test::FrameSpec& frame,
                                        Header header = Header::none) {
    return view(open(build_frame(frame).bytes), header);
  }
};

Access any_access(std::mt19937& random) {
  constexpr std::array kAll = {Access::random, Access::sequential, Access::streaming};
  return kAll[random() % kAll.size()];
}

// Oracle: the original array.
void check_ranges(const ArrayView& view, const Bytes& whole, std::mt19937& random, int reads) {
  REQUIRE(view.is_readable());
  for (int i = 0; i < reads && !whole.empty(); ++i) {
    const std::uint64_t offset = random() % whole.size();
    const std::uint64_t most = random() % 2 == 0 ? 20 : whole.size();
    const std::uint64_t size = random() % (std::min(most, whole.size() - offset)) + 1;
    const auto access = any_access(random);
    CAPTURE(offset, size);
    const auto got = read(view, offset, size, access);
    REQUIRE(got);
    REQUIRE(std::ranges::equal(*got, std::span(whole).subspan(offset, size)));
  }
}

TEST_CASE("array_view: any range of any array is the array's", "[fs][array_view][unit][long]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 150; ++round) {
    const auto sample = test::random_array_sample(random);
    CAPTURE(round, sample.spec.typesize, sample.spec.shape, sample.spec.chunkshape,
            sample.spec.blockshape);
    // A budget that fits everything, two that allow only small batches, and none.
    constexpr std::array<std::uint64_t, 4> kBudgets = {test::ViewMount::kBudget, 20'000, 500, 0};
    Mount mount(kBudgets[random() % kBudgets.size()]);
    check_ranges(*mount.view(sample.frame), sample.data, random, 40);
    CHECK(mount.lines().empty());
  }
}

TEST_CASE("array_view: sparse frames hold arrays as well", "[fs][array_view][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    const auto sample = test::random_array_sample(random);
    const auto built = test::build_sparse_frame(sample.frame);
    Mount mount;
    const auto frame =
        mount.open({.type = codec::FrameType::sparse,
                    .source = std::make_shared<const SharedSource>(built.index_file),
                    .chunks = std::make_shared<const test::MemoryChunks>(built.chunks),
                    .name = "the frame"});
    check_ranges(*mount.view(frame), sample.data, random, 20);
  }
}

// The size of a .npy file's header.  Source: NumPy Enhancement Proposal 1.
std::size_t npy_header_bytes(const Bytes& npy) {
  REQUIRE(npy.size() >= 10);
  const std::string magic(test::as_chars(npy.data()), 8);
  REQUIRE(magic == std::string("\x93NUMPY\x01\x00", 8));
  return 10 + std::to_integer<std::size_t>(npy[8]) + 256 * std::to_integer<std::size_t>(npy[9]);
}

TEST_CASE("array_view: a NumPy file has its header before the array", "[fs][array_view][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 30; ++round) {
    const auto sample = test::random_array_sample(random);
    Mount mount;
    const auto view = mount.view(sample.frame, Header::npy);
    const auto whole = read(*view, 0, view->decoded_bytes());
    REQUIRE(whole);
    const auto header_bytes = npy_header_bytes(*whole);
    CHECK(header_bytes % 64 == 0);
    CHECK((*whole)[header_bytes - 1] == std::byte{'\n'});
    CHECK(std::ranges::equal(std::span(*whole).subspan(header_bytes), sample.data));
    // Also ranges that cross its end.
    check_ranges(*view, *whole, random, 40);
    for (const std::size_t before : {1U, 2U, 64U}) {
      const auto across = read(*view, header_bytes - before, before + 1);
      REQUIRE(across);
      CHECK(across->size() == std::min(before + 1, whole->size() - header_bytes + before));
    }
  }
}

TEST_CASE("array_view: the header has the values that NumPy needs", "[fs][array_view][unit]") {
  const ArraySpec spec{.shape = {2, 3},
                       .chunkshape = {2, 2},
                       .blockshape = {1, 2},
                       .dtype = ">i2",
                       .typesize = 2,
                       .chunk = {}};
  Mount mount;
  const auto view = mount.view(test::array_sample(spec, 1).frame, Header::npy);
  const auto header = read(*view, 10, 118);
  REQUIRE(header);
  std::string text(test::as_chars(header->data()), header->size());
  text.erase(text.find_last_not_of(" \n") + 1);
  CHECK(text == "{'descr': '>i2', 'fortran_order': False, 'shape': (2, 3), }");
}

TEST_CASE("array_view: reads end where the array does", "[fs][array_view][unit]") {
  const ArraySpec spec{.shape = {30, 20},
                       .chunkshape = {7, 9},
                       .blockshape = {3, 4},
                       .dtype = "|u1",
                       .typesize = 1,
                       .chunk = {}};
  const auto sample = test::array_sample(spec, 1);
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  struct Row {
    std::uint64_t offset;
    std::uint64_t size;
    std::size_t expected;
  };
  for (const auto header : {Header::none, Header::npy}) {
    Mount mount;
    const auto view = mount.view(sample.frame, header);
    const std::size_t end = header == Header::npy ? 600 + 128 : 600;
    for (const auto& row :
         {Row{0, 0, 0}, Row{0, kMax, end}, Row{end - 1, 1, 1}, Row{end - 1, 2, 1},
          Row{end - 1, kMax, 1}, Row{end, 1, 0}, Row{end, kMax, 0}, Row{end + 1, 5, 0},
          Row{kMax, 1, 0}, Row{kMax, kMax, 0}, Row{end - 600, 0, 0}}) {
      CAPTURE(row.offset, row.size);
      const auto got = read(*view, row.offset, row.size);
      REQUIRE(got);
      CHECK(got->size() == row.expected);
    }
  }
}

TEST_CASE("array_view: one item, and none", "[fs][array_view][unit]") {
  Mount mount;
  const ArraySpec one{
      .shape = {}, .chunkshape = {}, .blockshape = {}, .dtype = "<f8", .typesize = 8, .chunk = {}};
  const auto item = test::array_sample(one, 3);
  CHECK(read(*mount.view(item.frame), 0, 100).value() == item.data);
  CHECK(read(*mount.view(item.frame, Header::npy), 0, 1000).value().size() == 128 + 8);
  for (const std::vector<std::uint64_t>& shape :
       std::vector<std::vector<std::uint64_t>>{{0}, {3, 0}, {0, 5}, {2, 0, 2}}) {
    ArraySpec none{.shape = shape,
                   .chunkshape = {},
                   .blockshape = {},
                   .dtype = "<f8",
                   .typesize = 8,
                   .chunk = {}};
    none.chunkshape.assign(shape.size(), 2);
    none.blockshape.assign(shape.size(), 1);
    const auto frame = array_frame(none, {});
    const auto view = mount.view(frame);
    CHECK(view->is_readable());
    CHECK(read(*view, 0, 100).value().empty());
    CHECK(read(*mount.view(frame, Header::npy), 0, 1000).value().size() == 128);
  }
  CHECK(mount.lines().empty());
}

// A (40, 40) array of bytes in chunks of (10, 40): four slabs of 400 bytes in C order.
ArraySample slabs() {
  const ArraySpec spec{.shape = {40, 40},
                       .chunkshape = {10, 40},
                       .blockshape = {5, 8},
                       .dtype = "|u1",
                       .typesize = 1,
                       .chunk = {}};
  return test::array_sample(spec, 1);
}

// Oracle: the undamaged array.
void check_spoilt(Mount& mount, const ArrayView& view, const Bytes& data, std::uint64_t begin,
                  std::uint64_t end, Errc kind) {
  REQUIRE(view.is_readable());
  for (int again = 0; again < 2; ++again) {
    for (std::uint64_t offset = 0; offset < data.size(); offset += 40) {
      CAPTURE(offset);
      const auto got = read(view, offset, 40);
      REQUIRE(got.has_value() == (offset < begin || offset >= end));
      if (got) CHECK(std::ranges::equal(*got, std::span(data).subspan(offset, 40)));
      if (!got) CHECK(got.error().kind == kind);
    }
    CHECK_FALSE(read(view, begin - 1, 2));
    CHECK_FALSE(read(view, end - 1, 2));
    CHECK_FALSE(read(view, 0, data.size()));
  }
  REQUIRE(mount.lines().size() == 1);
  CHECK(mount.lines()[0].starts_with("error: the frame: chunk 2: "));
}

TEST_CASE("array_view: a damaged chunk spoils its own range", "[fs][array_view][corrupt]") {
  const auto sample = slabs();
  const auto built = build_frame(sample.frame);
  for (const std::string how : {"header", "size", "codec", "index"}) {
    CAPTURE(how);
    auto bytes = built.bytes;
    const auto chunk_at = built.chunk_at[2];
    if (how == "header") test::put_le<std::int32_t>(bytes, chunk_at + 4, -1);
    if (how == "size") test::put_le<std::int32_t>(bytes, chunk_at + 4, 396);
    if (how == "codec") bytes[chunk_at + 2] = static_cast<std::byte>(0x35 | 5 << 5);
    if (how == "index") test::put_le<std::int64_t>(bytes, built.index_at + 32 + 16, 1 << 30);
    Mount mount;
    const auto view = mount.view(mount.open(bytes));
    check_spoilt(mount, *view, sample.data, 800, 1200,
                 how == "codec" ? Errc::unsupported : Errc::bad_field);
  }
}

// The chunk is valid on its own, but its blocks are not those of the array.
TEST_CASE("array_view: a chunk of other blocks than the array's spoils its own range",
          "[fs][array_view][corrupt]") {
  for (const bool vl_blocks : {false, true}) {
    CAPTURE(vl_blocks);
    auto sample = slabs();
    test::ChunkSpec other;
    other.typesize = 1;
    other.blocksize = 80;  // the array has 40
    if (vl_blocks) other.vl_block_bytes = std::vector<std::uint32_t>(10, 40);
    sample.frame.chunks[2] = test::stored_chunk(std::span(sample.data).subspan(800, 400), other);
    Mount mount;
    const auto view = mount.view(sample.frame);
    check_spoilt(mount, *view, sample.data, 800, 1200, Errc::bad_field);
  }
}

TEST_CASE("array_view: a chunk that a cache has not fetched spoils its own range",
          "[fs][array_view][unit]") {
  for (const auto kind : {test::SpecialKind::uninit, test::SpecialKind::zero}) {
    auto sample = slabs();
    sample.frame.chunks[2] = test::index_only_chunk(kind, 400);
    sample.frame.metalayers.push_back({.name = "proxy-source", .content = {}});
    sample.frame.vlmetalayers = {{"proxy-fetched", test::bitmap(sample.frame.chunks.size(), {2})}};
    Mount mount;
    const auto view = mount.view(sample.frame);
    check_spoilt(mount, *view, sample.data, 800, 1200, Errc::system);
  }
}

// The header of the .npy file would promise values.
TEST_CASE("array_view: no byte of a stored recipe can be read", "[fs][array_view][unit]") {
  for (const std::string name : {"b2o", "LazyArray"}) {
    auto sample = slabs();
    sample.frame.metalayers.push_back({.name = name, .content = test::counting(4)});
    Mount mount;
    const auto view = mount.view(sample.frame, Header::npy);
    const auto got = read(*view, 0, 10);
    REQUIRE_FALSE(got);
    CHECK(errno_of(got.error()) == EOPNOTSUPP);
  }
}

TEST_CASE("array_view: if the array cannot be opened, every read fails with the reason",
          "[fs][array_view][corrupt]") {
  const auto good = slabs().frame;
  auto damaged = good;
  damaged.metalayers[0].content.resize(10);
  auto no_array = good;
  no_array.metalayers[0].name = "other";
  auto too_few = good;
  too_few.chunks.pop_back();
  auto other_chunks = good;
  other_chunks.metalayers[0].content = test::array_metalayer(
      {.shape = {40, 40}, .chunkshape = {10, 39}, .blockshape = {5, 8}, .dtype = "|u1"});
  struct Row {
    const char* what;
    test::FrameSpec frame;
    Errc kind;
  };
  for (const auto& row :
       {Row{"damaged", damaged, Errc::truncated}, Row{"no array", no_array, Errc::bad_field},
        Row{"too few chunks", too_few, Errc::bad_field},
        Row{"other blocks in a chunk", other_chunks, Errc::bad_field}}) {
    CAPTURE(row.what);
    for (const auto header : {Header::none, Header::npy}) {
      Mount mount;
      const auto view = mount.view(row.frame, header);
      CHECK_FALSE(view->is_readable());
      for (const std::uint64_t offset : {0U, 1U, 100'000U}) {
        const auto got = read(*view, offset, 10);
        REQUIRE_FALSE(got);
        CHECK(got.error().kind == row.kind);
        CHECK_FALSE(view->seek(Seek::data, offset));
      }
      REQUIRE(mount.lines().size() == 1);
      CHECK(mount.lines()[0].starts_with("error: the frame: "));
    }
  }
  auto cut = build_frame(good).bytes;
  cut.pop_back();
  Mount mount;
  const auto view = mount.view(mount.open(cut));
  CHECK_FALSE(view->is_readable());
  CHECK(read(*view, 0, 1).error().kind == Errc::truncated);
  CHECK(mount.lines().size() == 1);
}

TEST_CASE("array_view: chunks beyond the array's are no matter", "[fs][array_view][unit]") {
  auto sample = slabs();
  sample.frame.chunks.push_back(sample.frame.chunks[0]);
  sample.frame.chunks.push_back(test::index_only_chunk(test::SpecialKind::nan, 400));
  Mount mount;
  CHECK(read(*mount.view(sample.frame), 0, 10'000).value() == sample.data);
}

// Oracle: the bytes themselves, after all other holders of them are destroyed.
TEST_CASE("array_view: a result stays good without view and cache", "[fs][array_view][unit]") {
  const auto sample = slabs();
  Mount mount(2000);
  auto view = mount.view(sample.frame);
  const auto kept = view->read(450, 1000, Access::sequential);
  REQUIRE(kept);
  for (std::uint64_t offset = 0; offset < 1600; offset += 100) REQUIRE(read(*view, offset, 100));
  view.reset();
  CHECK(std::ranges::equal(test::joined(*kept), std::span(sample.data).subspan(450, 1000)));
}

// Oracle: all reads are correct and end, although the budget admits one reader at a time.  Each
// block of a read waits for its turn, and an array may have thousands, so that the reads are short.
TEST_CASE("array_view: many readers get on with hardly any budget", "[fs][array_view][race]") {
  constexpr std::uint64_t kLongest = 2000;
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 shapes(seed);
  for (const std::uint64_t budget : {0U, 1U, 3000U, 100'000U}) {
    const auto sample = test::random_array_sample(shapes);
    CAPTURE(budget, sample.spec.shape, sample.spec.chunkshape, sample.spec.blockshape);
    Mount mount(budget);
    const auto view = mount.view(sample.frame, Header::npy);
    const auto whole = read(*view, 0, 1u << 20).value();
    std::vector<int> wrong(8);
    test::on_threads(wrong.size(), [&](std::size_t thread) {
      std::mt19937 random(seed + static_cast<std::uint32_t>(thread));
      for (int round = 0; round < 10; ++round) {
        const std::uint64_t offset = random() % whole.size();
        const std::uint64_t size = random() % std::min(whole.size() - offset, kLongest) + 1;
        const auto access = any_access(random);
        const auto got = read(*view, offset, size, access);
        if (!got || !std::ranges::equal(*got, std::span(whole).subspan(offset, size))) {
          ++wrong[thread];
        }
      }
    });
    CHECK(wrong == std::vector<int>(8));
  }
}

}  // namespace
}  // namespace framefs::fs::array_view_test
