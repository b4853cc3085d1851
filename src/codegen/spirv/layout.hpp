// Where a launch's arguments lie in memory: the push constants and the argument table (W37).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::codegen::spirv {

/// Offsets of one parameter's arguments, `slots` in a row each.
struct Place {
  std::uint32_t address = 0;      // span: 8 bytes each
  std::uint32_t value = 0;        // span: its length as I32; scalar: its bits
  std::uint32_t value_bytes = 4;  // of one value: 4 or 8
};

/// Vector lengths, then scalars, in one block of push constants. Addresses of vectors come after it
/// where the push constants have room for both, and in the argument table otherwise. If the block
/// is too large, lengths and scalars follow the addresses in the table.
struct Layout {
  std::vector<Place> places;     // by parameter
  std::uint32_t push_bytes = 0;  // block and addresses
  std::uint32_t table_bytes = 0;
  bool values_in_table = false;
  bool addresses_in_table = false;
};

/// Bytes that lengths and scalars take.
std::uint32_t value_bytes(const ir::Kernel& kernel);

/// `block`: how large lengths and scalars together may get (W37). `room`: what a launch may push in
/// all; none leaves every address in the table.
Layout lay_out(const ir::Kernel& kernel, std::uint32_t block, std::uint32_t room = 0);

/// A parameter of a kernel-flavour entry point.
struct EntryArgument {
  enum class Kind : std::uint8_t {
    span,            // pointer to its first element
    length,          // elements of a span, as I64
    scalar,          // its bits in 4 or 8 bytes
    table,           // a structure by value that holds all arguments, as `EntryLayout::table` says
    dynamic_shared,  // pointer to shared memory
  };
  Kind kind = Kind::span;
  std::uint32_t parameter = 0;  // of the kernel
  std::uint32_t bytes = 8;
};

/// What an entry point takes, in order. A kernel with argument tables takes them as one structure,
/// so that a launch sets one argument for any number of members.
struct EntryLayout {
  std::vector<EntryArgument> arguments;
  Layout table;
};

EntryLayout lay_out_entry(const ir::Kernel& kernel);

}  // namespace salvo::codegen::spirv
