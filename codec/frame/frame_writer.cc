#include "codec/frame/frame_writer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "codec/core/byte_writer.h"
#include "codec/core/limits.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_trailer.h"

namespace framefs::codec {

FrameHeader frame_header_for(const EncodeParams& encode, std::uint32_t chunksize, FrameType type) {
  constexpr std::uint8_t kVersion = 2;  // chunks of one size, blocks of one size
  FrameHeader header;
  header.typesize = encode.typesize;
  header.blocksize = static_cast<std::int32_t>(blocksize_for(encode, chunksize));
  header.chunksize = chunksize;
  header.type = type;
  header.version = kVersion;
  header.codec_id = static_cast<std::uint8_t>(encode.codec);
  header.clevel = static_cast<std::uint8_t>(encode.clevel);
  header.splitmode = static_cast<std::uint8_t>(encode.split);
  // The reference library refuses to encode if the codec has no dictionaries.
  header.use_dict = encode.use_dict && encode.codec == CodecId::zstd;
  header.filters = encode.filters;
  return header;
}

namespace {

Result<std::vector<NamedContent>> stored_layers(const FrameParams& params) {
  std::vector<NamedContent> stored;
  stored.reserve(params.vlmetalayers.size());
  for (const auto& layer : params.vlmetalayers) {
    FRAMEFS_TRY(auto content, encode_vlmetalayer(layer.content));
    stored.push_back({layer.name, std::move(content)});
  }
  return stored;
}

// The parts of a frame around its chunks and index.
struct Ends {
  FrameHeader header;           // of a frame without chunks
  std::vector<std::byte> head;  // fixed part, completed later, and metalayers
  std::vector<NamedContent> vlmetalayers;
  std::vector<std::byte> trailer;  // of a frame without chunks
};

Result<Ends> ends_of(const FrameParams& params, FrameType type) {
  FRAMEFS_CHECK(check_params(params.encode));
  if (params.chunksize == 0 || params.chunksize > kMaxChunkBytes) {
    return fail_value(Errc::bad_field, "chunksize", 58, params.chunksize);
  }
  Ends ends;
  ends.header = frame_header_for(params.encode, params.chunksize, type);
  ByteWriter head;
  head.zeros(kFrameFixedHeaderBytes);
  FRAMEFS_CHECK(append_metalayers(head, params.metalayers, head.size(), kMaxMetalayers));
  ends.head = std::move(head).take();
  ends.header.header_len = static_cast<std::uint32_t>(ends.head.size());
  FRAMEFS_TRY(ends.vlmetalayers, stored_layers(params));
  FRAMEFS_TRY(ends.trailer, params.checksums
                                ? encode_trailer_with_checksums(ends.vlmetalayers, {}, {})
                                : encode_trailer(ends.vlmetalayers));
  return ends;
}

}  // namespace

Result<std::vector<std::byte>> encode_empty_frame(const FrameParams& params) {
  FRAMEFS_TRY(auto ends, ends_of(params, FrameType::contiguous));
  auto& bytes = ends.head;
  ends.header.frame_len = bytes.size() + ends.trailer.size();
  encode_frame_header(ends.header, params.checksums || !params.vlmetalayers.empty(),
                      std::span(bytes).first<kFrameFixedHeaderBytes>());
  bytes.insert(bytes.end(), ends.trailer.begin(), ends.trailer.end());
  return std::move(bytes);
}

Result<FrameWriter> FrameWriter::create(ByteSink& sink, const FrameParams& params) {
  return make(sink, nullptr, params);
}

Result<FrameWriter> FrameWriter::create_sparse(ByteSink& index, ChunkFiles& files,
                                               const FrameParams& params) {
  return make(index, &files, params);
}

Result<FrameWriter> FrameWriter::make(ByteSink& sink, ChunkFiles* files,
                                      const FrameParams& params) {
  FRAMEFS_TRY(auto ends,
              ends_of(params, files == nullptr ? FrameType::contiguous : FrameType::sparse));
  FrameWriter writer(sink, files);
  writer.header_ = ends.header;
  writer.head_ = std::move(ends.head);
  writer.vlmetalayers_ = std::move(ends.vlmetalayers);
  writer.has_checksums_ = params.checksums;
  return writer;
}

Status FrameWriter::refuse_if_broken() const {
  if (is_broken_) return fail(Errc::internal, "frame writer");
  return {};
}

Status FrameWriter::admit(std::uint64_t nbytes) const {
  if (nbytes == 0 || nbytes > header_.chunksize) {
    return fail_value(Errc::bad_field, "nbytes of a chunk", 4, static_cast<std::int64_t>(nbytes));
  }
  if (header_.nbytes % header_.chunksize != 0) {
    return fail(Errc::bad_field, "chunk after a shorter one", header_.nbytes);
  }
  if (entries_.size() == kMaxChunks ||
      header_.nbytes > std::uint64_t{std::numeric_limits<std::int64_t>::max()} - nbytes) {
    return fail(Errc::over_limit, "number of chunks", header_.nbytes);
  }
  if (has_checksums_ && entries_.size() == kMaxChecksums) {
    return fail_value(Errc::over_limit, "number of chunks with checksums", header_.nbytes,
                      static_cast<std::int64_t>(entries_.size()));
  }
  return {};
}

void FrameWriter::note(std::int64_t entry, std::uint64_t nbytes, const ChunkChecksum& checksum) {
  entries_.push_back(entry);
  if (has_checksums_) checksums_.push_back(checksum);
  header_.nbytes += nbytes;
}

// Readers of frames expect 32-byte chunk headers, index entries instead of stored chunks where the
// index has a code, and repeated values of the frame's typesize.
bool FrameWriter::takes(const ChunkHeader& chunk, std::uint32_t typesize) noexcept {
  if (!chunk.extended || chunk.vl_blocks) return false;
  const auto value_bytes = chunk.cbytes - chunk.header_bytes();
  return chunk.special == Special::none ||
         (chunk.special == Special::value && value_bytes == typesize);
}

Status FrameWriter::append_chunk(std::span<const std::byte> chunk) {
  FRAMEFS_CHECK(refuse_if_broken());
  FRAMEFS_TRY(
      const auto header,
      parse_chunk_header(chunk.first(std::min<std::size_t>(chunk.size(), kExtendedHeaderBytes)),
                         chunk.size()));
  if (header.cbytes != chunk.size() || !takes(header, header_.typesize)) {
    return fail(Errc::bad_field, "chunk of a frame", header_.cbytes);
  }
  FRAMEFS_CHECK(admit(header.nbytes));
  const auto entry = files_ == nullptr ? static_cast<std::int64_t>(header_.cbytes)
                                       : static_cast<std::int64_t>(stored_chunks_);
  if (const auto stored = put_chunk(chunk); !stored) {
    is_broken_ = true;
    return stored;
  }
  header_.cbytes += chunk.size();
  ++stored_chunks_;
  note(entry, header.nbytes, has_checksums_ ? checksum_of(chunk) : ChunkChecksum{});
  return {};
}

Status FrameWriter::put_chunk(std::span<const std::byte> chunk) {
  if (files_ != nullptr) return files_->write(stored_chunks_, chunk);
  return sink_->write_at(header_.header_len + header_.cbytes, chunk);
}

Status FrameWriter::append_special(Special rule, std::uint32_t nbytes) {
  FRAMEFS_CHECK(refuse_if_broken());
  if (rule == Special::none || rule == Special::value) {
    return fail(Errc::bad_field, "special chunk", header_.cbytes);
  }
  // The reference library does not find the end of the last item in such a chunk.
  if (nbytes % header_.typesize != 0) {
    return fail_value(Errc::bad_field, "nbytes of a special chunk", 4, nbytes);
  }
  FRAMEFS_CHECK(admit(nbytes));
  note(index_code(rule), nbytes, {});
  return {};
}

Result<std::uint64_t> FrameWriter::finish() {
  FRAMEFS_CHECK(refuse_if_broken());
  is_broken_ = true;
  return write_end();
}

Result<std::uint64_t> FrameWriter::write_end() {
  std::uint64_t at = header_.header_len + (files_ == nullptr ? header_.cbytes : 0);
  // A frame without chunks has no index.
  if (!entries_.empty()) {
    FRAMEFS_TRY(const auto index, encode_index(entries_));
    FRAMEFS_CHECK(sink_->write_at(at, index));
    at += index.size();
  }
  FRAMEFS_TRY(const auto trailer,
              has_checksums_ ? encode_trailer_with_checksums(vlmetalayers_, entries_, checksums_)
                             : encode_trailer(vlmetalayers_));
  FRAMEFS_CHECK(sink_->write_at(at, trailer));
  header_.frame_len = at + trailer.size();
  encode_frame_header(header_, has_checksums_ || !vlmetalayers_.empty(),
                      std::span(head_).first<kFrameFixedHeaderBytes>());
  FRAMEFS_CHECK(sink_->write_at(0, head_));
  FRAMEFS_CHECK(sink_->truncate(header_.frame_len));
  FRAMEFS_CHECK(sink_->sync());
  return header_.frame_len;
}

}  // namespace framefs::codec
