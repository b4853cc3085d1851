// Where a launch's arguments lie in memory: the push constants and the argument table (W37).
// SPDX-License-Identifier: MIT
#include "codegen/spirv/layout.hpp"

#include <algorithm>

#include "codegen/c_family/printer.hpp"

namespace salvo::codegen::spirv {
namespace {

std::uint32_t aligned(std::uint32_t offset, std::uint32_t to) {
  return (offset + to - 1) / to * to;
}

/// Gives every value its offset, from `at` on, and returns the end. 8-byte scalars come before
/// smaller ones, so that aligning them costs at most once.
std::uint32_t place_values(const ir::Kernel& kernel, std::vector<Place>& places, std::uint32_t at) {
  const auto place = [&](std::size_t i, std::uint32_t bytes) {
    at = aligned(at, bytes);
    places[i].value = at;
    places[i].value_bytes = bytes;
    at += bytes * kernel.parameters[i].slots;
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (kernel.parameters[i].is_span) place(i, 4);
  }
  for (const std::uint32_t bytes : {8u, 4u}) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const ir::Parameter& parameter = kernel.parameters[i];
      if (parameter.is_span || (ir::size_of(parameter.type) == 8) != (bytes == 8)) continue;
      place(i, bytes);
    }
  }
  return at;
}

std::uint32_t place_addresses(const ir::Kernel& kernel, std::vector<Place>& places,
                              std::uint32_t at) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!kernel.parameters[i].is_span) continue;
    places[i].address = at;
    at += 8 * kernel.parameters[i].slots;
  }
  return at;
}

}  // namespace

std::uint32_t value_bytes(const ir::Kernel& kernel) {
  std::vector<Place> places(kernel.parameters.size());
  return place_values(kernel, places, 0);
}

Layout lay_out(const ir::Kernel& kernel, std::uint32_t block, std::uint32_t room) {
  Layout layout;
  layout.places.resize(kernel.parameters.size());
  layout.push_bytes = place_values(kernel, layout.places, 0);
  layout.values_in_table = layout.push_bytes > block;

  const std::uint32_t after_block = aligned(layout.push_bytes, 8);
  const std::uint32_t end = place_addresses(kernel, layout.places, after_block);
  if (!layout.values_in_table && end <= room) {
    if (end > after_block) layout.push_bytes = end;
    return layout;
  }
  layout.table_bytes = place_addresses(kernel, layout.places, 0);
  layout.addresses_in_table = layout.table_bytes != 0;
  if (layout.values_in_table) {
    layout.push_bytes = 0;
    layout.table_bytes = place_values(kernel, layout.places, layout.table_bytes);
  }
  return layout;
}

EntryLayout lay_out_entry(const ir::Kernel& kernel) {
  using Kind = EntryArgument::Kind;
  EntryLayout entry;
  const auto& parameters = kernel.parameters;
  if (std::any_of(parameters.begin(), parameters.end(),
                  [](const ir::Parameter& parameter) { return parameter.slots > 1; })) {
    entry.table = lay_out(kernel, 0);
    entry.arguments.push_back({Kind::table, 0, aligned(entry.table.table_bytes, 8)});
  } else {
    const std::vector<bool> lengths = c_family::reads_length(kernel);
    for (std::uint32_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].is_span) {
        const bool wide = ir::size_of(parameters[i].type) == 8;
        entry.arguments.push_back({Kind::scalar, i, wide ? 8u : 4u});
        continue;
      }
      entry.arguments.push_back({Kind::span, i, 8});
      if (lengths[i]) entry.arguments.push_back({Kind::length, i, 8});
    }
  }
  if (kernel.has_dynamic_shared()) entry.arguments.push_back({Kind::dynamic_shared, 0, 8});
  return entry;
}

}  // namespace salvo::codegen::spirv
