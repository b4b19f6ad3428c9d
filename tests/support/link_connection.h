#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/http_exchange.h"

namespace framefs::test {

// Buffers are used again: memory that is new to a process is slow to write first.
class Buffers {
 public:
  static constexpr std::size_t kBytes = 128 << 10;
  using Buffer = std::unique_ptr<std::array<char, kBytes>>;
  Buffer take() {
    if (spare_.empty()) return std::make_unique_for_overwrite<Buffer::element_type>();
    auto buffer = std::move(spare_.back());
    spare_.pop_back();
    return buffer;
  }
  void give_back(Buffer buffer) {
    if (buffer) spare_.push_back(std::move(buffer));
  }

 private:
  std::vector<Buffer> spare_;
};

// Bytes on their way.
struct Piece {
  Buffers::Buffer bytes;
  std::size_t size = 0;
  std::size_t sent = 0;
  Exchange::Time due;
  ExchangeParser::Passed passed;
};

// One direction of a connection.
struct Pipe {
  int from = -1;
  int to = -1;
  std::deque<Piece> pieces{};
  std::size_t bytes = 0;
  bool is_ended = false;  // `from` sends no more
  bool is_full = false;   // `to` takes no more at present
};

enum class FaultKind : std::uint8_t { none, reset, stall, status };
struct Fault {
  FaultKind kind = FaultKind::none;
  std::uint64_t every = 0;
  std::uint64_t value = 0;
};

struct Connection {
  Pipe up;
  Pipe down;
  Exchange::Time established;
  ExchangeParser parser{};
  std::shared_ptr<Exchange> broken{};  // an answer of which the client does not get all
  std::optional<Fault> fault{};        // of the present answer
  std::uint64_t answer_bytes = 0;
  bool is_over = false;
  bool ends_by_reset = false;
};

}  // namespace framefs::test
