#include "codec/compressor/lz4.h"

#include <cerrno>
#include <utility>

#include <lz4.h>
#include <lz4hc.h>

#include "codec/compressor/lz4_decoder.h"

namespace framefs::codec {

const char* lz4_version() noexcept { return LZ4_versionString(); }
namespace {

const char* chars(std::span<const std::byte> bytes) {
  return reinterpret_cast<const char*>(bytes.data());  // char may alias any object
}
char* chars(std::span<std::byte> bytes) {
  return reinterpret_cast<char*>(bytes.data());  // char may alias any object
}

std::unexpected<Error> out_of_memory() {
  return std::unexpected(Error{.kind = Errc::system, .field = "lz4 encoder", .sys = ENOMEM});
}

// Converts the result of a library function: all results below 1 mean "no room".
std::size_t size_of(int produced) { return produced > 0 ? static_cast<std::size_t>(produced) : 0; }

}  // namespace

void Lz4Encoder::Free::operator()(LZ4_stream_t* state) const noexcept { LZ4_freeStream(state); }

Result<Lz4Encoder> Lz4Encoder::make() {
  Lz4Encoder encoder(LZ4_createStream());
  if (!encoder.state_) return out_of_memory();
  return encoder;
}

Result<std::size_t> Lz4Encoder::encode(int acceleration, std::span<const std::byte> in,
                                       std::span<std::byte> out) {
  if (!is_lz4_size(in) || !is_lz4_size(out)) return fail(Errc::over_limit, "lz4 stream size");
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
  if (!is_lz4_size(in) || !is_lz4_size(out)) return fail(Errc::over_limit, "lz4 stream size");
  return size_of(LZ4_compress_HC_extStateHC(state_.get(), chars(in), chars(out),
                                            static_cast<int>(in.size()),
                                            static_cast<int>(out.size()), level));
}

}  // namespace framefs::codec
