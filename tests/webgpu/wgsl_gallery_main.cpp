// Runs a suite on a fake device, and writes the WGSL of its kernels and what its launches computed.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codegen/wgsl/layout.hpp"
#include "codegen/wgsl/printer.hpp"
#include "fake/fake_backend.hpp"
#include "ir/hash.hpp"
#include "offline/gallery.hpp"
#include "salvo/error.hpp"

namespace salvo::tests {
namespace {

using ir::Op;
using ir::Scalar;
using nlohmann::json;

constexpr std::size_t kMostBytes = 1 << 20;      // of a buffer that is written down
constexpr std::size_t kMostLaunches = 4;         // of a kernel
constexpr std::uint64_t kMostThreads = 1 << 20;  // of a launch

std::string hex(const std::vector<std::byte>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

/// Operations whose results WGSL leaves to the device; empty if the kernel has none, and every bit
/// is to be the interpreter's.
std::set<std::string> loose_operations(const ir::Kernel& kernel) {
  std::set<std::string> loose;
  for (const ir::Block& block : kernel.blocks) {
    for (const ir::ValueId id : block.nodes) {
      const ir::Node& node = kernel.node(id);
      const bool exact_math = node.op == Op::Floor || node.op == Op::Ceil || node.op == Op::Round ||
                              node.op == Op::Trunc || node.op == Op::Fmod ||
                              node.op == Op::Copysign || node.op == Op::IsNan ||
                              node.op == Op::IsInf;
      const bool divides = node.op == Op::Div && ir::is_float(node.type);
      const bool adds = node.op == Op::AtomicAdd && ir::is_float(node.type);
      if ((ir::is_math(node.op) && !exact_math) || node.op == Op::Fma || divides || adds ||
          ir::is_user_code(node.op)) {
        loose.insert(std::string(ir::name(node.op)));
      }
    }
  }
  return loose;
}

class Collector {
 public:
  void see(const WatchedLaunch& launch) {
    std::size_t& count = counts_[ir::hash(launch.kernel)];
    if (count == kMostLaunches) return;
    try {
      json made = launch_json(launch);
      ++count;
      launches_.push_back(std::move(made));
    } catch (const Error&) {
      return;  // refused: `kernels` says why
    }
  }

  /// Each kernel, printed or refused.
  json all(const Gallery& gallery) const {
    json kernels = json::array();
    for (const ir::Kernel& kernel : gallery.kernels()) {
      json one{{"name", kernel.name}};
      try {
        const auto [entry, code] = codegen::wgsl::print(kernel);
        one["entry"] = entry;
        one["code"] = code;
      } catch (const Error& error) {
        one["refused"] = error.message();
      }
      kernels.push_back(std::move(one));
    }
    return {{"kernels", std::move(kernels)}, {"launches", launches_}, {"skipped", skipped_}};
  }

 private:
  json launch_json(const WatchedLaunch& launch) {
    const auto [entry, code] = codegen::wgsl::print(launch.kernel);
    const codegen::wgsl::Layout layout(launch.kernel);
    std::vector<std::uint32_t> words(layout.words);
    json buffers = json::array();
    std::set<std::uintptr_t> handles;
    std::size_t argument = 0;
    for (std::size_t i = 0; i < launch.kernel.parameters.size(); ++i) {
      const ir::Parameter& parameter = launch.kernel.parameters[i];
      const auto& at = layout.parameters[i];
      for (std::uint32_t slot = 0; slot < parameter.slots; ++slot, ++argument) {
        const runtime::Argument& given = launch.arguments[argument];
        if (!parameter.is_span) {
          words[at.word + slot] = codegen::wgsl::word_of(parameter.type, given.bits);
          continue;
        }
        const ir::Element& element = launch.kernel.memories[parameter.memory].element;
        words[at.word + slot] = static_cast<std::uint32_t>(given.byte_offset / element.size);
        words[at.length + slot] = static_cast<std::uint32_t>(given.length);
        if (given.byte_offset % element.size != 0) skip("a view between elements");
        // What nobody writes may be bound as two copies.
        const bool again = given.buffer && !handles.insert(given.buffer.handle).second;
        if (again && launch.before[argument] != launch.after[argument]) {
          skip("a vector that is written and bound twice");
        }
        if (launch.before[argument].size() > kMostBytes) skip("a vector over 1 MiB");
        buffers.push_back({{"binding", at.binding + slot},
                           {"stride", element.size},
                           {"fields", fields(element)},
                           {"before", hex(launch.before[argument])},
                           {"after", hex(launch.after[argument])}});
      }
    }
    const auto& grid = launch.shape.grid;
    const auto& block = launch.shape.block;
    std::uint64_t threads = 1;
    for (int axis = 0; axis < 3; ++axis) threads *= std::uint64_t{grid[axis]} * block[axis];
    if (threads > kMostThreads) skip("over 2^20 threads");
    return {{"name", launch.kernel.name},
            {"entry", entry},
            {"code", code},
            {"words", words},
            {"grid", grid},
            {"block", block},
            {"dynamic", dynamic_elements(launch)},
            {"loose", loose_operations(launch.kernel)},
            {"buffers", std::move(buffers)}};
  }

  /// 0: the kernel has no dynamic shared memory.
  static std::uint32_t dynamic_elements(const WatchedLaunch& launch) {
    for (const ir::Memory& memory : launch.kernel.memories) {
      if (memory.space != ir::Space::Shared || memory.count != 0) continue;
      return std::max(1u, launch.shape.dynamic_shared_bytes / memory.element.size);
    }
    return 0;
  }

  static json fields(const ir::Element& element) {
    json all = json::array();
    for (const ir::Field& field : element.fields) {
      all.push_back({{"offset", field.offset}, {"type", ir::name(field.type)}});
    }
    return all;
  }

  /// Leaves the launch out, and counts it by the reason.
  [[noreturn]] void skip(const std::string& reason) {
    ++skipped_[reason];
    throw Error(Errc::unsupported, reason);
  }

  std::map<ir::Digest, std::size_t> counts_;
  json launches_ = json::array();
  std::map<std::string, std::size_t> skipped_;
};

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    fmt::print(stderr, "usage: {} <file to write>\n", argv[0]);
    return EXIT_FAILURE;
  }
  Collector collector;
  watch_launches([&](const WatchedLaunch& launch) { collector.see(launch); });
  const Gallery gallery;
  const int failed = RUN_ALL_TESTS();
  watch_launches(nullptr);
  std::ofstream file(argv[1]);
  file << collector.all(gallery).dump() << "\n";
  return failed == 0 && file.good() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace salvo::tests

int main(int argc, char** argv) {
  return salvo::tests::run(argc, argv);
}
