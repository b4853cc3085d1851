// From the SPIR-V of a module to the LLVM bitcode that an OpenCL driver for CPUs takes.
// SPDX-License-Identifier: MIT
#include "drivers/level_zero/translation.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "drivers/level_zero/warp_library.hpp"
#include "drivers/process.hpp"
#include "temporary_folder.hpp"

namespace salvo::test::level_zero {
namespace {

/// The first instruction with this opcode, and this second operand if one is given; null if none.
const std::uint32_t* find(const std::vector<std::uint32_t>& words, std::uint32_t op,
                          std::optional<std::uint32_t> second = std::nullopt) {
  for (std::size_t at = 5; at < words.size() && words[at] >> 16 != 0; at += words[at] >> 16) {
    if ((words[at] & 0xffff) == op && (!second || words[at + 2] == *second)) return &words[at];
  }
  return nullptr;
}

/// PoCL's library has mem_fence under a name of its own alone.
constexpr const char* kTarget = "target triple = \"spir64-unknown-unknown\"\n";
constexpr const char* kFence =
    "define spir_func void @_Z9mem_fencej(i32 %flags) {\n  fence seq_cst\n  ret void\n}\n";

}  // namespace

Translation translate(const std::vector<std::uint32_t>& words) {
  const tests::TemporaryFolder folder;
  const std::string in = (folder.path() / "in.spv").string();
  const std::string out = (folder.path() / "out.bc").string();
  const std::string log = (folder.path() / "log").string();
  std::ofstream(in, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * sizeof(std::uint32_t)));
  const int status =
      run_program({"llvm-spirv-15", "-r", "--spirv-target-env=CL1.2", "-o", out, in}, log);
  Translation result;
  result.log = content_of(log);
  if (status == -1) result.log = "llvm-spirv-15 cannot be run: install the package of its name";
  if (status != 0) return result;
  constexpr std::uint32_t kMemoryBarrier = 225, kExecutionMode = 16, kSubgroupSize = 35;
  std::string library = find(words, kMemoryBarrier) ? kFence : "";
  if (const std::uint32_t* mode = find(words, kExecutionMode, kSubgroupSize)) {
    library += warp_library(mode[3]);
  }
  if (!library.empty()) {
    const std::string file = (folder.path() / "library.ll").string();
    std::ofstream(file) << kTarget << library;
    if (run_program({"llvm-link-15", "--suppress-warnings", "-o", out, out, file}, log) != 0) {
      result.log = "llvm-link-15 failed: " + content_of(log);
      return result;
    }
  }
  const std::string bitcode = content_of(out);
  result.bitcode.assign(bitcode.begin(), bitcode.end());
  return result;
}

namespace {

/// Sizes of the types a kernel's parameters can have.
class Types {
 public:
  void add(std::uint32_t op, const std::uint32_t* operand, std::uint32_t count) {
    constexpr std::uint32_t kInt = 21, kFloat = 22, kArray = 28, kStruct = 30, kPointer = 32,
                            kConstant = 43;
    switch (op) {
      case kInt:
      case kFloat:
        sizes_[operand[1]] = {operand[2] / 8, operand[2] / 8};
        break;
      case kConstant:
        constants_[operand[2]] = operand[3];
        break;
      case kArray: {
        const Size element = sizes_[operand[2]];
        sizes_[operand[1]] = {element.bytes * constants_[operand[3]], element.alignment};
        break;
      }
      case kStruct: {
        Size all{0, 1};
        for (std::uint32_t i = 2; i < count; ++i) {
          const Size member = sizes_[operand[i]];
          all.bytes = aligned(all.bytes, member.alignment) + member.bytes;
          all.alignment = std::max(all.alignment, member.alignment);
        }
        sizes_[operand[1]] = {aligned(all.bytes, all.alignment), all.alignment};
        break;
      }
      case kPointer:
        pointers_[operand[1]] = {operand[2], operand[3]};
        break;
      default:
        break;
    }
  }

  Passing passing(std::uint32_t type) const {
    constexpr std::uint32_t kUniformConstant = 0, kWorkgroup = 4, kCrossWorkgroup = 5;
    const auto pointer = pointers_.find(type);
    if (pointer == pointers_.end()) return {Passing::How::value, sizes_.at(type).bytes};
    const auto [storage, pointee] = pointer->second;
    if (storage == kCrossWorkgroup || storage == kUniformConstant) {
      return {Passing::How::pointer, sizeof(void*)};
    }
    if (storage == kWorkgroup) return {Passing::How::shared, 0};
    return {Passing::How::value, sizes_.at(pointee).bytes};  // a structure by value
  }

 private:
  struct Size {
    std::size_t bytes = 0;
    std::size_t alignment = 1;
  };
  static std::size_t aligned(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
  }

  std::map<std::uint32_t, Size> sizes_;
  std::map<std::uint32_t, std::uint32_t> constants_;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> pointers_;
};

}  // namespace

std::map<std::string, std::vector<Passing>> kernels_of(const std::vector<std::uint32_t>& words) {
  constexpr std::uint32_t kEntryPoint = 15, kFunction = 54, kParameter = 55;
  Types types;
  std::map<std::uint32_t, std::string> entries;
  std::map<std::string, std::vector<Passing>> found;
  std::vector<Passing>* current = nullptr;
  for (std::size_t at = 5; at < words.size();) {
    const std::uint32_t count = words[at] >> 16;
    if (count == 0 || count > words.size() - at) break;
    const std::uint32_t* operand = &words[at];
    const std::uint32_t op = words[at] & 0xffff;
    types.add(op, operand, count);
    if (op == kEntryPoint) {
      entries[operand[2]] = reinterpret_cast<const char*>(operand + 3);
    } else if (op == kFunction) {
      const auto entry = entries.find(operand[2]);
      current = entry == entries.end() ? nullptr : &found[entry->second];
    } else if (op == kParameter && current) {
      current->push_back(types.passing(operand[1]));
    }
    at += count;
  }
  return found;
}

}  // namespace salvo::test::level_zero
