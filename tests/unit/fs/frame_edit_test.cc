#include "fs/write/frame_edit.h"

#include <algorithm>
#include <random>

#include "tests/support/random_seed.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/edit_mount.h"

namespace framefs::fs {
namespace {

using test::Bytes;
using test::EditMount;
using test::read_edit;
using test::read_stored;

codec::FrameParams params_of(codec::CodecId codec, std::uint32_t typesize,
                             std::uint32_t chunksize) {
  codec::FrameParams params{.encode = {.codec = codec, .typesize = typesize}, .chunksize = chunksize};
  params.encode.filters.back().id = 1;
  return params;
}

// A frame and what it should hold, changed alike at random.
class Model {
 public:
  Model(EditMount& mount, std::filesystem::path path, std::uint64_t seed)
      : mount_(mount), path_(std::move(path)), random_(seed), edit_(mount.open(path_)) {}

  void step() {
    switch (pick(16)) {
      case 0:
        truncate();
        break;
      case 1:
        zero();
        break;
      case 2:
        REQUIRE(edit_->flush(pick(2) == 0 ? FrameImage::Which::full : FrameImage::Which::all));
        break;
      case 3:
        commit();
        break;
      case 4:
        if (pick(4) == 0) reopen();
        break;
      case 5:
        if (pick(8) == 0) REQUIRE(edit_->compact(true));
        break;
      case 6:
      case 7:
        check_part();
        break;
      default:
        write();
    }
    REQUIRE(edit_->nbytes() == plain_.size());
  }

  void commit() {
    REQUIRE(edit_->commit(pick(2) == 0));
    REQUIRE_FALSE(edit_->is_changed());
    REQUIRE(read_stored(path_) == plain_);
    REQUIRE(read_edit(*edit_, 0, plain_.size()) == plain_);
  }

 private:
  static constexpr std::uint64_t kMost = 40000;
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void write() {
    const auto offset = pick(4) == 0 ? plain_.size() : pick(std::min(kMost, plain_.size() + 5000));
    Bytes bytes(1 + pick(pick(3) == 0 ? 9000 : 300));
    const auto kind = pick(3);  // zeros, something that repeats, noise
    for (auto& byte : bytes) {
      byte = std::byte(kind == 0 ? 0u : kind == 1 ? pick(2) : random_());
    }
    const FrameEdit::Piece piece{offset, bytes};
    REQUIRE(edit_->write(std::span(&piece, 1)));
    plain_.resize(std::max<std::size_t>(plain_.size(), offset + bytes.size()));
    std::ranges::copy(bytes, plain_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  void truncate() {
    const auto size = pick(6) == 0 ? 0 : pick(kMost);
    REQUIRE(edit_->truncate(size));
    plain_.resize(size);
  }

  void zero() {
    const auto offset = pick(kMost);
    const auto size = 1 + pick(8000);
    REQUIRE(edit_->zero(offset, size));
    for (auto at = offset; at < std::min<std::uint64_t>(offset + size, plain_.size()); ++at) {
      plain_[at] = std::byte{0};
    }
  }

  void check_part() {
    const auto offset = pick(kMost);
    const auto size = pick(6000);
    const auto begin = std::min<std::uint64_t>(offset, plain_.size());
    const auto end = std::min<std::uint64_t>(offset + size, plain_.size());
    REQUIRE(read_edit(*edit_, offset, size) ==
            Bytes(plain_.begin() + static_cast<std::ptrdiff_t>(begin),
                  plain_.begin() + static_cast<std::ptrdiff_t>(end)));
  }

  void reopen() {
    commit();
    edit_ = nullptr;
    edit_ = mount_.open(path_);
  }

  EditMount& mount_;
  const std::filesystem::path path_;
  std::mt19937_64 random_;
  std::shared_ptr<FrameEdit> edit_;
  Bytes plain_;
};

}  // namespace

TEST_CASE("frame_edit: is what was written, after any sequence of changes",
          "[fs][frame_edit][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const test::TempDirectory folder;
  for (const bool sparse : {false, true}) {
    for (const auto codec : {codec::CodecId::lz4, codec::CodecId::zstd, codec::CodecId::blosclz}) {
      for (const std::uint32_t chunksize : {512u, 4096u, 16384u}) {
        EditMount mount;
        const auto path = folder.path() / "x.b2frame";
        std::filesystem::remove_all(path);
        mount.create(path, params_of(codec, 4, chunksize), sparse);
        Model model(mount, path, random());
        for (int i = 0; i < 300; ++i) model.step();
        model.commit();
        CHECK(mount.lines().empty());
      }
    }
  }
}

}  // namespace framefs::fs
