// What an OpenCL kernel in a SPIR-V module takes, read from the module.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/entry.hpp"

#include <glslang/SPIRV/spirv.hpp>

#include <cstring>
#include <map>

namespace salvo::codegen::spirv {
namespace {

constexpr std::size_t kHeadWords = 5;

using Type = std::optional<EntryParameter>;

Type pointer(std::uint32_t storage) {
  switch (storage) {
    case spv::StorageClassCrossWorkgroup:
    case spv::StorageClassUniformConstant:
      return EntryParameter{EntryParameter::Kind::global, 8};
    case spv::StorageClassWorkgroup:
      return EntryParameter{EntryParameter::Kind::shared, 8};
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_module(std::string_view code) noexcept {
  std::uint32_t first = 0;
  if (code.size() < kHeadWords * sizeof(first) || code.size() % sizeof(first) != 0) return false;
  std::memcpy(&first, code.data(), sizeof(first));
  return first == spv::MagicNumber;
}

std::optional<std::vector<EntryParameter>> entry_parameters(std::span<const std::uint32_t> words,
                                                            std::string_view entry) {
  std::uint32_t wanted = 0;
  std::map<std::uint32_t, Type> types;
  std::vector<EntryParameter> found;
  bool inside = false;
  for (std::size_t at = kHeadWords; at < words.size();) {
    const std::uint32_t count = words[at] >> 16;
    if (count == 0 || count > words.size() - at) return std::nullopt;  // cut short
    const auto operand = [&](std::uint32_t i) { return i < count ? words[at + i] : 0; };
    switch (words[at] & 0xffff) {
      case spv::OpEntryPoint: {
        if (count < 4) return std::nullopt;
        const char* name = reinterpret_cast<const char*>(&words[at + 3]);
        const std::string_view text(name, strnlen(name, (count - 3) * sizeof(std::uint32_t)));
        if (operand(1) == spv::ExecutionModelKernel && text == entry) wanted = operand(2);
        break;
      }
      case spv::OpTypeInt:
      case spv::OpTypeFloat:
        types[operand(1)] = EntryParameter{EntryParameter::Kind::value, operand(2) / 8};
        break;
      case spv::OpTypePointer:
        types[operand(1)] = pointer(operand(2));
        break;
      case spv::OpFunction:
        inside = wanted != 0 && operand(2) == wanted;
        break;
      case spv::OpFunctionParameter: {
        if (!inside) break;
        const Type type = types[operand(1)];
        if (!type) return std::nullopt;
        found.push_back(*type);
        break;
      }
      case spv::OpLabel:
        if (inside) return found;
        break;
      default:
        break;
    }
    at += count;
  }
  return std::nullopt;
}

}  // namespace salvo::codegen::spirv
