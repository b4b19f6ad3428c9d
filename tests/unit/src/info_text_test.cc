#include <nlohmann/json.hpp>

#include "src/cli/printable.h"
#include "src/info/info_json.h"
#include "src/info/info_table.h"
#include "tests/support/catch.h"

namespace framefs::info_text_test {
namespace {

using Json = nlohmann::json;

fs::FrameInfo sample_info() {
  fs::FrameInfo info;
  info.kind = "contiguous";
  info.layout = "current";
  info.format_version = 2;
  info.codec = "zstd";
  info.codec_id = 5;
  info.level = 5;
  info.splitmode = "auto";
  info.filters = {{"trunc_prec", 4, 12}, {"shuffle", 1, 0}};
  info.typesize = 8;
  info.chunksize = 800;
  info.blocksize = 80;
  info.chunk_count = 3;
  info.nbytes = 2400;
  info.cbytes = 1200;
  info.frame_len = 1500;
  info.stored_bytes = 1500;
  info.vlmetalayers = {{"one", 10}, {"two", 20}};
  return info;
}

fs::ChunkInfo sample_chunk() {
  codec::ChunkHeader header;
  header.version = 5;
  header.codec = codec::CodecFormat::zstd;
  header.typesize = 8;
  header.extended = true;
  header.filters[5] = {.id = 1, .meta = 0};
  header.nbytes = 800;
  header.blocksize = 80;
  header.nblocks = 10;
  header.cbytes = 400;
  fs::ChunkInfo chunk;
  chunk.index = 1;
  chunk.offset = 500;
  chunk.header = header;
  chunk.is_split = true;
  return chunk;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

TEST_CASE("info table: control characters are shown by number, other text is left",
          "[src][info][unit]") {
  CHECK(printable("plain text") == "plain text");
  CHECK(printable("\x1b[31m\n\t\x7f") == "\\x1b[31m\\x0a\\x09\\x7f");
  CHECK(printable("\xc3\xa4 \xe2\x82\xac") == "\xc3\xa4 \xe2\x82\xac");
  CHECK(printable("\xc2\x9b"
                  "2J")
            .find('\xc2') == std::string::npos);  // U+009B starts a control sequence too
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
  CHECK(printable("\xc2") == "\xc2");
}

TEST_CASE("info table: sizes for people keep the exact number", "[src][info][unit]") {
  CHECK(size_with_bytes(0) == "0 bytes");
  CHECK(size_with_bytes(999) == "999 bytes");
  CHECK(size_with_bytes(1500) == "1.5 kB (1500 bytes)");
  CHECK(size_with_bytes(4'000'000'000) == "4.0 GB (4000000000 bytes)");
}

TEST_CASE("info table: a frame is a block of keys and values in two columns", "[src][info][unit]") {
  const auto lines = lines_of(frame_block("dir/x\n.b2frame", sample_info()));
  CHECK(lines.front() == "dir/x\\x0a.b2frame:");
  const auto column = lines[1].find("contiguous");
  REQUIRE(column != std::string::npos);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    CAPTURE(lines[i]);
    CHECK(lines[i].starts_with("  "));
    CHECK(lines[i][column - 1] == ' ');
    CHECK(lines[i][column] != ' ');
  }
  const auto all = frame_block("x", sample_info());
  for (const auto* const part : {"2.4 kB (2400 bytes)", "ratio 2.00", "zstd, level 5, split auto",
                                 "trunc_prec (12), shuffle", "one: 10 bytes", "two: 20 bytes"}) {
    CHECK(all.find(part) != std::string::npos);
  }
}

TEST_CASE("info table: an array has its shape, a damaged one its reason", "[src][info][unit]") {
  auto info = sample_info();
  CHECK(frame_block("x", info).find("shape") == std::string::npos);
  codec::ArrayMeta array;
  array.ndim = 2;
  array.shape = {30, 10};
  array.chunkshape = {10, 10};
  array.blockshape = {1, 10};
  array.dtype = "<f8";
  info.array = array;
  info.descr = "'<f8'";
  const auto block = frame_block("x", info);
  CHECK(block.find("(30, 10)") != std::string::npos);
  CHECK(block.find("(1, 10)") != std::string::npos);
  CHECK(block.find("<f8") == block.rfind("<f8"));  // only once: NumPy's name is the same
  info.array->ndim = 1;
  CHECK(frame_block("x", info).find("(30,)") != std::string::npos);
  info.array.reset();
  info.array_damage = "bad field: ndim (99) at byte 100";
  CHECK(frame_block("x", info).find("damaged: bad field: ndim (99)") != std::string::npos);
}

TEST_CASE("info table: rows of chunks stand below their heads", "[src][info][unit]") {
  const ChunkTable table(sample_info(), 1000);
  const auto heading = table.heading();
  auto chunk = sample_chunk();
  const auto row = table.row(chunk);
  const auto ends_at = [](const std::string& line, const std::string& cell) {
    return line.find(cell) + cell.size();
  };
  CHECK(ends_at(heading, "offset") == ends_at(row, "1500"));
  CHECK(ends_at(heading, "stored") == ends_at(row, " 400"));
  CHECK(ends_at(heading, "decoded") == ends_at(row, " 800"));
  CHECK(heading.find("codec") == row.find("zstd"));
  CHECK(heading.find("flags") == row.find("split"));
  CHECK(row.find("error") == std::string::npos);
  chunk.error =
      codec::Error{.kind = codec::Errc::bad_field, .field = "nbytes", .at = 504, .value = -1};
  CHECK(table.row(chunk).ends_with("  error: bad field: nbytes (-1) at byte 504\n"));
  chunk.header.reset();
  chunk.offset.reset();
  CHECK(table.row(chunk).find("bad field") != std::string::npos);
}

TEST_CASE("info json: an object that is left open is closed by the end of its list",
          "[src][info][unit]") {
  auto text = open_list(frame_json("x", sample_info()), "chunk_list");
  text += chunk_json(sample_chunk(), 1000) + kListEnd;
  const auto json = Json::parse(text);
  CHECK(json["path"] == "x");
  CHECK(json["nbytes"] == 2400);
  CHECK(json["chunks"] == 3);
  REQUIRE(json["chunk_list"].size() == 1);
  const auto& chunk = json["chunk_list"][0];
  CHECK(chunk["index"] == 1);
  CHECK(chunk["offset"] == 1500);
  CHECK(chunk["codec"] == "zstd");
  CHECK(chunk["special"].is_null());
  CHECK(chunk["blocks"] == 10);
  CHECK(chunk["split"] == true);
  CHECK(chunk["filters"][0]["name"] == "shuffle");
  CHECK_FALSE(chunk.contains("file"));
  CHECK_FALSE(chunk.contains("error"));
}

TEST_CASE("info json: unknown values are null or left out", "[src][info][unit]") {
  fs::ChunkInfo chunk;
  chunk.index = 7;
  chunk.file = "0000002A.chunk";
  chunk.error = codec::Error{.kind = codec::Errc::truncated, .field = "header", .at = 0};
  const auto json = Json::parse(chunk_json(chunk, 0));
  CHECK(json["offset"].is_null());
  CHECK(json["file"] == "0000002A.chunk");
  CHECK(json["error"] == "truncated: header at byte 0");
  CHECK_FALSE(json.contains("nbytes"));
}

TEST_CASE("info json: paths and names of any bytes are text all the same", "[src][info][corrupt]") {
  CHECK(Json::parse(error_json("\xff\"\n", "cause\x80"))["path"].is_string());
  auto info = sample_info();
  info.metalayers = {{"\xfe\xff", 1}};
  CHECK(Json::parse(frame_json("\xff", info))["metalayers"].size() == 1);
}

}  // namespace
}  // namespace framefs::info_text_test
