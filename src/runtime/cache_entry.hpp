// One compiled kernel as a file: what it was made from, its bytes, and checksums over both.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/hash.hpp"

namespace salvo::runtime {

/// All that decides the bytes of a compiled kernel, each part digested apart, so that an entry that
/// does not fit tells which part differs.
struct CacheKey {
  ir::Digest device;    // backend, platform, vendor, name
  ir::Digest driver;    // DeviceProperties::driver_version
  ir::Digest compiler;  // DeviceDriver::build_identity
  ir::Digest salvo;     // code_version
  ir::Digest options;   // of translation and of the device compiler
  ir::Digest code;      // the program and the name of its entry
  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

/// Parts that differ only in where one ends and the next begins have other digests.
ir::Digest digest_of(std::initializer_list<std::string_view> parts);

/// What a look-up found.
enum class CacheLookup : std::uint8_t {
  found,
  absent,          // no file of this name
  unreadable,      // the file cannot be opened or read
  not_an_entry,    // it does not begin as an entry does
  other_format,    // written by a Salvo with another file format
  truncated,       // shorter than it says
  corrupt,         // a checksum does not match
  other_device,    // whole, but made for another device
  other_driver,    // ... driver version
  other_compiler,  // ... compiler behind the driver
  other_salvo,     // ... by another Salvo
  other_options,   // ... with other options
  other_code,      // ... from other code
};
std::string_view describe(CacheLookup result) noexcept;

/// 32 hexadecimal digits, of all parts of the key.
std::string entry_name(const CacheKey& key);

std::vector<std::byte> encode_entry(const CacheKey& key, std::span<const std::byte> binary);

struct DecodedEntry {
  CacheLookup result = CacheLookup::absent;
  std::span<const std::byte> binary;  // within the file; only if found
};
/// Reads any bytes at all: what is not a whole entry for `key` is told apart, never trusted.
DecodedEntry decode_entry(const CacheKey& key, std::span<const std::byte> file) noexcept;

}  // namespace salvo::runtime
