#include "tests/support/zip_builder.h"

namespace framefs::test {
namespace {

constexpr std::uint32_t kSee64 = 0xFFFFFFFF;

std::uint32_t narrow(std::uint64_t value, bool wide) {
  return wide ? kSee64 : static_cast<std::uint32_t>(value);
}

void append_local_header(Bytes& out, const ZipFile& file) {
  append_le<std::uint32_t>(out, 0x04034b50);
  append_le<std::uint16_t>(out, 45);
  append_le(out, file.flags);
  append_le(out, file.method);
  append_le<std::uint64_t>(out, 0);  // time, date, checksum: not used
  append_le(out, narrow(file.content.size(), file.wide));
  append_le(out, narrow(file.content.size(), file.wide));
  append_le(out, static_cast<std::uint16_t>(file.name.size()));
  append_le(out, static_cast<std::uint16_t>(file.local_extra.size() + (file.wide ? 20 : 0)));
  append(out, std::string_view(file.name));
  append(out, file.local_extra);
  if (!file.wide) return;
  append_le<std::uint16_t>(out, 1);
  append_le<std::uint16_t>(out, 16);
  append_le<std::uint64_t>(out, file.content.size());
  append_le<std::uint64_t>(out, file.content.size());
}

void append_entry(Bytes& out, const ZipFile& file, std::size_t local_at) {
  append_le<std::uint32_t>(out, 0x02014b50);
  append_le<std::uint16_t>(out, 45);
  append_le<std::uint16_t>(out, 45);
  append_le(out, file.flags);
  append_le(out, file.method);
  append_le<std::uint64_t>(out, 0);
  append_le(out, narrow(file.content.size(), file.wide));
  append_le(out, narrow(file.content.size(), file.wide));
  append_le(out, static_cast<std::uint16_t>(file.name.size()));
  append_le<std::uint16_t>(out, file.wide ? 4 + 2 + 28 : 0);
  append_le(out, static_cast<std::uint16_t>(file.comment.size()));
  append_le<std::uint16_t>(out, 0);  // disk
  append_le<std::uint16_t>(out, 0);
  append_le<std::uint32_t>(out, 0);
  append_le(out, narrow(local_at, file.wide));
  append(out, std::string_view(file.name));
  if (file.wide) {
    append_le<std::uint16_t>(out, 0x5455);  // another extension before the 64-bit one
    append_le<std::uint16_t>(out, 2);
    append_le<std::uint16_t>(out, 0);
    append_le<std::uint16_t>(out, 1);
    append_le<std::uint16_t>(out, 24);
    append_le<std::uint64_t>(out, file.content.size());
    append_le<std::uint64_t>(out, file.content.size());
    append_le<std::uint64_t>(out, local_at);
  }
  append(out, std::string_view(file.comment));
}

void append_end_64(BuiltZip& zip, std::size_t files, std::size_t directory_bytes) {
  Bytes& out = zip.bytes;
  zip.end_64_at = out.size();
  append_le<std::uint32_t>(out, 0x06064b50);
  append_le<std::uint64_t>(out, 44);
  append_le<std::uint16_t>(out, 45);
  append_le<std::uint16_t>(out, 45);
  append_le<std::uint32_t>(out, 0);  // disks
  append_le<std::uint32_t>(out, 0);
  append_le<std::uint64_t>(out, files);
  append_le<std::uint64_t>(out, files);
  append_le<std::uint64_t>(out, directory_bytes);
  append_le<std::uint64_t>(out, zip.directory_at);
  zip.locator_at = out.size();
  append_le<std::uint32_t>(out, 0x07064b50);
  append_le<std::uint32_t>(out, 0);
  append_le<std::uint64_t>(out, zip.end_64_at);
  append_le<std::uint32_t>(out, 1);
}

}  // namespace

BuiltZip build_zip(const ZipSpec& spec) {
  BuiltZip zip;
  Bytes& out = zip.bytes;
  for (const auto& file : spec.files) {
    zip.local_at.push_back(out.size());
    append_local_header(out, file);
    zip.data_at.push_back(out.size());
    append(out, file.content);
  }
  zip.directory_at = out.size();
  for (std::size_t i = 0; i < spec.files.size(); ++i) {
    zip.entry_at.push_back(out.size());
    append_entry(out, spec.files[i], zip.local_at[i]);
  }
  const auto directory_bytes = out.size() - zip.directory_at;
  if (spec.wide_end) append_end_64(zip, spec.files.size(), directory_bytes);
  zip.end_at = out.size();
  const auto count = static_cast<std::uint16_t>(spec.wide_end ? 0xFFFF : spec.files.size());
  append_le<std::uint32_t>(out, 0x06054b50);
  append_le<std::uint32_t>(out, 0);  // disks
  append_le(out, count);
  append_le(out, count);
  append_le(out, narrow(directory_bytes, spec.wide_end));
  append_le(out, narrow(zip.directory_at, spec.wide_end));
  append_le(out, static_cast<std::uint16_t>(spec.comment.size()));
  append(out, std::string_view(spec.comment));
  return zip;
}

}  // namespace framefs::test
