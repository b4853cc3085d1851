// One compiled kernel as a file: what it was made from, its bytes, and checksums over both.
// SPDX-License-Identifier: MIT
#include "runtime/cache_entry.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace salvo::runtime {
namespace {

// The file is a header of 64-bit words, then the payload. Words are in the host's order: an entry
// from a machine of the other order has another magic number.
constexpr std::uint64_t kMagic = 0x4548434F564C4153;  // "SALVOCHE"
constexpr std::uint64_t kFormat = 1;

enum Word : std::size_t {
  magic,
  format,
  parts,  // six digests of two words
  payload_bytes = parts + 12,
  payload_checksum,
  header_checksum = payload_checksum + 2,  // of all words before it
  word_count = header_checksum + 2,
};
using Header = std::array<std::uint64_t, word_count>;

struct Part {
  ir::Digest CacheKey::*digest;
  CacheLookup differs;
};
constexpr std::array kParts{Part{&CacheKey::device, CacheLookup::other_device},
                            Part{&CacheKey::driver, CacheLookup::other_driver},
                            Part{&CacheKey::compiler, CacheLookup::other_compiler},
                            Part{&CacheKey::salvo, CacheLookup::other_salvo},
                            Part{&CacheKey::options, CacheLookup::other_options},
                            Part{&CacheKey::code, CacheLookup::other_code}};
static_assert(parts + 2 * kParts.size() == payload_bytes);

void put(Header& header, std::size_t at, const ir::Digest& digest) {
  header[at] = digest.high;
  header[at + 1] = digest.low;
}

ir::Digest get(const Header& header, std::size_t at) {
  return {header[at], header[at + 1]};
}

ir::Digest checksum_of(const Header& header) {
  return ir::hash_bytes(header.data(), header_checksum * sizeof(header[0]));
}

}  // namespace

ir::Digest digest_of(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (std::string_view part : parts) {
    const std::uint64_t length = part.size();
    all.append(reinterpret_cast<const char*>(&length), sizeof(length));
    all.append(part);
  }
  return ir::hash_bytes(all.data(), all.size());
}

std::string_view describe(CacheLookup result) noexcept {
  switch (result) {
    case CacheLookup::found:
      return "found";
    case CacheLookup::absent:
      return "not there";
    case CacheLookup::unreadable:
      return "the file cannot be read";
    case CacheLookup::not_an_entry:
      return "the file is no cache entry";
    case CacheLookup::other_format:
      return "another file format";
    case CacheLookup::truncated:
      return "the file is cut short";
    case CacheLookup::corrupt:
      return "the file is damaged";
    case CacheLookup::other_device:
      return "made for another device";
    case CacheLookup::other_driver:
      return "made with another driver version";
    case CacheLookup::other_compiler:
      return "made with another device compiler";
    case CacheLookup::other_salvo:
      return "made by another Salvo";
    case CacheLookup::other_options:
      return "made with other options";
    case CacheLookup::other_code:
      return "made from other code";
  }
  return "unknown";
}

std::string entry_name(const CacheKey& key) {
  std::array<std::uint64_t, 2 * kParts.size()> words{};
  std::size_t at = 0;
  for (const Part& part : kParts) {
    words[at++] = (key.*part.digest).high;
    words[at++] = (key.*part.digest).low;
  }
  return ir::hash_bytes(words.data(), sizeof(words)).hex();
}

std::vector<std::byte> encode_entry(const CacheKey& key, std::span<const std::byte> binary) {
  Header header{};
  header[magic] = kMagic;
  header[format] = kFormat;
  for (std::size_t i = 0; i < kParts.size(); ++i) put(header, parts + 2 * i, key.*kParts[i].digest);
  header[payload_bytes] = binary.size();
  put(header, payload_checksum, ir::hash_bytes(binary.data(), binary.size()));
  put(header, header_checksum, checksum_of(header));

  std::vector<std::byte> file(sizeof(header) + binary.size());
  std::memcpy(file.data(), header.data(), sizeof(header));
  if (!binary.empty()) std::memcpy(file.data() + sizeof(header), binary.data(), binary.size());
  return file;
}

DecodedEntry decode_entry(const CacheKey& key, std::span<const std::byte> file) noexcept {
  if (file.size() < sizeof(std::uint64_t)) return {CacheLookup::truncated, {}};
  Header header{};
  std::memcpy(header.data(), file.data(), std::min(file.size(), sizeof(header)));
  if (header[magic] != kMagic) return {CacheLookup::not_an_entry, {}};
  if (file.size() < (format + 1) * sizeof(header[0])) return {CacheLookup::truncated, {}};
  // Before the checksum: another format may keep it elsewhere.
  if (header[format] != kFormat) return {CacheLookup::other_format, {}};
  if (file.size() < sizeof(header)) return {CacheLookup::truncated, {}};
  if (get(header, header_checksum) != checksum_of(header)) return {CacheLookup::corrupt, {}};
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    if (get(header, parts + 2 * i) != key.*kParts[i].digest) return {kParts[i].differs, {}};
  }
  const std::span<const std::byte> binary = file.subspan(sizeof(header));
  if (binary.size() < header[payload_bytes]) return {CacheLookup::truncated, {}};
  if (binary.size() > header[payload_bytes] ||
      get(header, payload_checksum) != ir::hash_bytes(binary.data(), binary.size())) {
    return {CacheLookup::corrupt, {}};
  }
  return {CacheLookup::found, binary};
}

}  // namespace salvo::runtime
