#include "codec/compressor/lz4.h"

#include <cerrno>
#include <utility>

#include <lz4.h>
#include <lz4hc.h>

namespace framefs::codec {
namespace {

// The library counts in int.
bool is_countable(std::span<const std::byte> bytes) { return std::in_range<int>(bytes.size()); }

const char* chars(std::span<const std::byte> bytes) {
  return reinterpret_cast<const char*>(bytes.data());  // char may alias every type
}
char* chars(std::span<std::byte> bytes) {
  return reinterpret_cast<char*>(bytes.data());  // char may alias every type
}

std::unexpected<Error> out_of_memory() {
  return std::unexpected(Error{.kind = Errc::system, .field = "lz4 encoder", .sys = ENOMEM});
}

// What an encoding function of the library returned: nothing below 1 says more than "no room".
std::size_t size_of(int produced) { return produced > 0 ? static_cast<std::size_t>(produced) : 0; }

}  // namespace

Status decode_lz4(std::span<const std::byte> in, std::span<std::byte> out,
                  std::span<const std::byte> dictionary) {
  if (!is_countable(in) || !is_countable(out) || !is_countable(dictionary)) {
    return fail(Errc::over_limit, "lz4 stream size");
  }
  const int in_bytes = static_cast<int>(in.size());
  const int out_bytes = static_cast<int>(out.size());
  const int produced =
      dictionary.empty()
          ? LZ4_decompress_safe(chars(in), chars(out), in_bytes, out_bytes)
          : LZ4_decompress_safe_usingDict(chars(in), chars(out), in_bytes, out_bytes,
                                          chars(dictionary), static_cast<int>(dictionary.size()));
  if (produced < 0) return fail(Errc::bad_field, "lz4 stream");
  if (produced != out_bytes) {
    return fail_value(Errc::bad_field, "lz4 decoded size", in.size(), produced);
  }
  return {};
}

Status decode_lz4_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                         std::size_t count) {
  if (count >= out.size()) return decode_lz4(in, out, {});
  if (!is_countable(in) || !is_countable(out)) return fail(Errc::over_limit, "lz4 stream size");
  const int produced =
      LZ4_decompress_safe_partial(chars(in), chars(out), static_cast<int>(in.size()),
                                  static_cast<int>(count), static_cast<int>(out.size()));
  if (produced < 0) return fail(Errc::bad_field, "lz4 stream");
  if (std::cmp_less(produced, count)) {
    return fail_value(Errc::bad_field, "lz4 decoded size", in.size(), produced);
  }
  return {};
}

void Lz4Encoder::Free::operator()(LZ4_stream_t* state) const noexcept { LZ4_freeStream(state); }

Result<Lz4Encoder> Lz4Encoder::make() {
  Lz4Encoder encoder(LZ4_createStream());
  if (!encoder.state_) return out_of_memory();
  return encoder;
}

Result<std::size_t> Lz4Encoder::encode(int acceleration, std::span<const std::byte> in,
                                       std::span<std::byte> out) {
  if (!is_countable(in) || !is_countable(out)) return fail(Errc::over_limit, "lz4 stream size");
  return size_of(LZ4_compress_fast_extState(state_.get(), chars(in), chars(out),
                                            static_cast<int>(in.size()),
                                            static_cast<int>(out.size()), acceleration));
}

void Lz4HcEncoder::Free::operator()(LZ4_streamHC_t* state) const noexcept {
  LZ4_freeStreamHC(state);
}

Result<Lz4HcEncoder> Lz4HcEncoder::make() {
  Lz4HcEncoder encoder(LZ4_createStreamHC());
  if (!encoder.state_) return out_of_memory();
  return encoder;
}

Result<std::size_t> Lz4HcEncoder::encode(int level, std::span<const std::byte> in,
                                         std::span<std::byte> out) {
  if (!is_countable(in) || !is_countable(out)) return fail(Errc::over_limit, "lz4 stream size");
  return size_of(LZ4_compress_HC_extStateHC(state_.get(), chars(in), chars(out),
                                            static_cast<int>(in.size()),
                                            static_cast<int>(out.size()), level));
}

}  // namespace framefs::codec
