// W50, W51: machine code and compiler output hold the fused multiply-adds that the IR asks for, no
// more and no fewer; and where contraction is let loose, this is seen.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/nvrtc_api.hpp"
#include "codegen/c_family/cuda_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "codegen/ptx/emitter.hpp"
#include "codegen/spirv/emitter.hpp"
#include "fusion/epilogue.hpp"
#include "ir/kernel.hpp"
#include "passes/contract.hpp"
#include "random/random_support.hpp"
#include "rules/cuda_code.hpp"
#include "window/kernel_record.hpp"

namespace salvo::tests {
namespace {

using ir::Op;
using ir::Scalar;

/// Float operations, by kind. A subtraction is an addition with a sign.
struct Counts {
  int fused = 0;
  int products = 0;
  int sums = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.fused << " fma, " << counts.products << " mul, " << counts.sums << " add";
}

Counts counts_of(const ir::Kernel& kernel) {
  Counts counts;
  for (const ir::Block& block : kernel.blocks) {
    for (ir::ValueId id : block.nodes) {
      const ir::Node& node = kernel.node(id);
      if (!ir::is_float(node.type)) continue;
      counts.fused += node.op == Op::Fma ? 1 : 0;
      counts.products += node.op == Op::Mul ? 1 : 0;
      counts.sums += node.op == Op::Add || node.op == Op::Sub ? 1 : 0;
    }
  }
  return counts;
}

template <class T>
auto element_wise(const std::string& name, unsigned seed) {
  return kernel(name, [seed](Span<T> x, Span<T> w, Span<T> y, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      Random random(seed);
      std::vector<Value<T>> values{x[i], w[i]};
      for (int step = 0; step < 6; ++step) {
        const auto pick = [&] {
          return values[static_cast<std::size_t>(random.below(static_cast<int>(values.size())))];
        };
        Value<T> a = pick(), b = pick();
        switch (random.below(3)) {
          case 0:
            values.push_back(a * b);
            break;
          case 1:
            values.push_back(a + b);
            break;
          default:
            values.push_back(a * b - values.back());
            break;
        }
      }
      // Every value is used once more, so that none is left out.
      for (std::size_t v = 3; v < 8; ++v)
        values.push_back(values.back() * values[v] + values[v - 1]);
      y[i] = values.back() + values[2];
    });
  });
}

/// Final forms of many kernels: with and without fused operations, alone, merged and fused.
template <class T>
std::vector<ir::Kernel> gallery() {
  std::vector<ir::Kernel> all;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const auto producer = element_wise<T>(fmt::format("producer{}", seed), seed);
    const auto consumer = element_wise<T>(fmt::format("consumer{}", seed), seed + 100);
    const auto both = fuse(producer, consumer, through<2, 0>);
    all.push_back(producer.record()->kernel);
    all.push_back(producer.record()->contracted());
    all.push_back(both.record()->kernel);
    all.push_back(both.record()->contracted());
    // The consumer reads, as its first vector, the one that the producer stores.
    std::vector<fusion::Aliasing> aliasing(16, fusion::Aliasing::disjoint);
    aliasing[2 * 4 + 0] = fusion::Aliasing::same;
    const auto pair = fusion::analyse_epilogue(producer.record()->contracted(),
                                               consumer.record()->contracted(), aliasing);
    EXPECT_EQ(pair.refusal, Reason::none) << pair.words;
    all.push_back(fusion::merge_epilogue(pair));
  }
  return all;
}

/// Whether contraction has anything to do in a kernel: a product that only a sum uses.
bool could_contract(const ir::Kernel& kernel) {
  const ir::Kernel after = passes::contract(kernel);
  return counts_of(after).fused > counts_of(kernel).fused;
}

TEST(W51Emitted, W51_TheGalleryHasAllKindsOfOperations) {
  Counts plain, contracted;
  int could = 0;
  for (const ir::Kernel& kernel : gallery<float>()) {
    const Counts counts = counts_of(kernel);
    Counts& sum = counts.fused > 0 ? contracted : plain;
    sum = {sum.fused + counts.fused, sum.products + counts.products, sum.sums + counts.sums};
    could += could_contract(kernel) ? 1 : 0;
  }
  EXPECT_EQ(plain.fused, 0);
  EXPECT_GT(plain.products, 100);
  EXPECT_GT(contracted.fused, 100);
  EXPECT_GT(contracted.products, 20);
  EXPECT_GE(could, 24);  // those that were not contracted
}

/// A compiler may drop an operation that repeats another, but makes none.
void expect_compiled_from(const ir::Kernel& kernel, const Counts& compiled) {
  const Counts asked = counts_of(kernel);
  EXPECT_EQ(compiled.fused, asked.fused) << kernel.name;
  EXPECT_LE(compiled.products, asked.products) << kernel.name;
  EXPECT_LE(compiled.sums, asked.sums) << kernel.name;
  EXPECT_GE(compiled.products + compiled.sums + 8, asked.products + asked.sums) << kernel.name;
}

Counts counts_of_ptx(const std::string& code) {
  const auto count = [&](const char* pattern) {
    const std::regex one(pattern);
    return static_cast<int>(std::distance(std::sregex_iterator(code.begin(), code.end(), one), {}));
  };
  return {count(R"(\bfma\.rn\.f(32|64)\b)"), count(R"(\bmul(\.rn)?\.f(32|64)\b)"),
          count(R"(\b(add|sub)(\.rn)?\.f(32|64)\b)")};
}

TEST(W51Emitted, W51_PtxHoldsTheOperationsOfTheIr) {
  for (const auto& all : {gallery<float>(), gallery<double>()}) {
    for (const ir::Kernel& kernel : all) {
      EXPECT_EQ(counts_of_ptx(codegen::ptx::emit(kernel, {}).code), counts_of(kernel))
          << kernel.name;
    }
  }
}

/// Counts float operations in a cubin. The lowest nine bits of an instruction say which operation
/// it is; a test below checks that these are the ones.
Counts counts_of_cubin(const std::string& cubin) {
  Counts counts;
  for (const Instruction& instruction : instructions_of(cubin)) {
    switch (instruction.low & 0x1ff) {
      case 0x023:  // FFMA
      case 0x02b:  // DFMA
        ++counts.fused;
        break;
      case 0x020:  // FMUL
      case 0x028:  // DMUL
        ++counts.products;
        break;
      case 0x021:  // FADD
      case 0x029:  // DADD
      case 0x022:  // FADD with a constant on some chips
        ++counts.sums;
        break;
      default:
        break;
    }
  }
  return counts;
}

class W51MachineCode : public testing::Test {
 protected:
  void SetUp() override {
    if (!assembler_.is_there()) GTEST_SKIP() << "ptxas is not installed";
  }
  Counts assembled(const std::string& ptx) const {
    return counts_of_cubin(assembler_.assemble(ptx));
  }
  template <class T, class Body>
  Counts single(Body body, bool contraction = false) const {
    const auto made = kernel("single", [body](Span<T> x, Span<T> y, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { y[i] = body(x[i], y[i]); });
    });
    codegen::ptx::EmitOptions options;
    options.contraction = contraction;
    return assembled(codegen::ptx::emit(made.record()->kernel, options).code);
  }

  const Assembler assembler_;
};

TEST_F(W51MachineCode, W51_TheOperationsAreReadAsWhatTheyAre) {
  const auto check = [&]<class T>(std::type_identity<T>) {
    using V = Value<T>;
    EXPECT_EQ(single<T>([](V a, V b) { return fma(a, b, a); }), (Counts{1, 0, 0}));
    EXPECT_EQ(single<T>([](V a, V b) { return a * b; }), (Counts{0, 1, 0}));
    EXPECT_EQ(single<T>([](V a, V b) { return a + b; }), (Counts{0, 0, 1}));
    EXPECT_EQ(single<T>([](V a, V b) { return a - b; }), (Counts{0, 0, 1}));
    EXPECT_EQ(single<T>([](V a, V b) { return max(a, b); }), (Counts{0, 0, 0}));
  };
  check(std::type_identity<float>{});
  check(std::type_identity<double>{});
}

TEST_F(W51MachineCode, W51_SassHoldsTheOperationsOfTheIr) {
  for (const auto& all : {gallery<float>(), gallery<double>()}) {
    for (const ir::Kernel& kernel : all) {
      expect_compiled_from(kernel, assembled(codegen::ptx::emit(kernel, {}).code));
    }
  }
}

TEST_F(W51MachineCode, W51_ContractionLetLooseIsSeen) {
  codegen::ptx::EmitOptions loose;
  loose.contraction = true;
  int seen = 0, could = 0;
  for (const ir::Kernel& kernel : gallery<float>()) {
    const Counts counts = assembled(codegen::ptx::emit(kernel, loose).code);
    could += could_contract(kernel) ? 1 : 0;
    seen += counts.fused > counts_of(kernel).fused ? 1 : 0;
  }
  EXPECT_GT(could, 0);
  EXPECT_GE(seen, could);
}

class W51Nvrtc : public W51MachineCode {
 protected:
  void SetUp() override {
    if (const std::string reason = nvrtc_.load(); !reason.empty()) GTEST_SKIP() << reason;
    if (nvrtc_.arch_for(90) != 90) GTEST_SKIP() << nvrtc_.shared_object_name() << " knows no sm_90";
  }
  Counts compiled(const ir::Kernel& kernel, bool fmad) {
    const std::string code =
        codegen::c_family::print(kernel, codegen::c_family::cuda_dialect(), {}).code;
    return counts_of_cubin(nvrtc_.compile(
        code, "one.cu",
        {"--std=c++17", "--gpu-architecture=sm_90", fmt::format("--fmad={}", fmad)}));
  }
  backends::cuda::Nvrtc nvrtc_;
};

TEST_F(W51Nvrtc, W51_CudaCHoldsTheOperationsOfTheIr) {
  for (const ir::Kernel& kernel : gallery<float>()) {
    expect_compiled_from(kernel, compiled(kernel, false));
  }
}

TEST_F(W51Nvrtc, W51_ContractionLetLooseIsSeen) {
  int seen = 0, could = 0;
  for (const ir::Kernel& kernel : gallery<float>()) {
    could += could_contract(kernel) ? 1 : 0;
    seen += compiled(kernel, true).fused > counts_of(kernel).fused ? 1 : 0;
  }
  EXPECT_GT(could, 0);
  EXPECT_GE(seen, could);
}

/// Arithmetic instructions of a module, and how many of their results are kept apart.
struct Module {
  Counts counts;
  int arithmetic = 0;
  int kept_apart = 0;
};

Module read_module(const std::vector<std::uint32_t>& words) {
  constexpr std::uint32_t kHead = 5, kDecorate = 71, kNoContraction = 42, kExtInst = 12, kFma = 50;
  constexpr std::uint32_t kNegate = 127, kAdd = 129, kSub = 131, kMul = 133, kDiv = 136;
  Module module;
  std::set<std::uint32_t> decorated;
  for (std::size_t at = kHead; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t op = words[at] & 0xffff;
    if (op == kDecorate && words[at + 2] == kNoContraction) decorated.insert(words[at + 1]);
    const bool fused = op == kExtInst && words[at + 4] == kFma;
    module.counts.fused += fused ? 1 : 0;
    module.counts.products += op == kMul ? 1 : 0;
    module.counts.sums += op == kAdd || op == kSub ? 1 : 0;
    if (!fused && op != kNegate && op != kAdd && op != kSub && op != kMul && op != kDiv) continue;
    ++module.arithmetic;
    module.kept_apart += static_cast<int>(decorated.count(words[at + 2]));
  }
  return module;
}

TEST(W51Emitted, W51_SpirvHoldsTheOperationsOfTheIrEachKeptApart) {
  codegen::spirv::Options options;
  options.fma_rounds_once = true;
  for (const auto& all : {gallery<float>(), gallery<double>()}) {
    for (const ir::Kernel& kernel : all) {
      const Module module = read_module(codegen::spirv::emit(kernel, options).words);
      EXPECT_EQ(module.counts, counts_of(kernel)) << kernel.name;
      EXPECT_EQ(module.kept_apart, module.arithmetic) << kernel.name;
    }
  }
  options.contraction = true;
  const Module loose = read_module(codegen::spirv::emit(gallery<float>().front(), options).words);
  EXPECT_GT(loose.arithmetic, 0);
  EXPECT_EQ(loose.kept_apart, 0);
}

bool is_pocl(const DeviceProperties& device) {
  return (device.platform + device.driver_version).find("PoCL") != std::string::npos ||
         device.platform.find("Portable Computing Language") != std::string::npos;
}

/// What PoCL keeps of the kernels it compiles: libraries of machine code, disassembled.
class W51Pocl : public testing::Test {
 protected:
  /// Multiplications, sums and fused ones in the machine code of one launch.
  Counts compiled(const Device& device,
                  const Kernel<Span<float>, Span<float>, Span<float>, Int>& one) {
    std::set<std::string> before = libraries();
    Vector<float> x(64, 1.0f), w(64, 1.0f), y(64);
    device.launch(one, grid(1).block(64), x, w, y, 64);
    device.synchronize();
    Counts counts;
    int found = 0;
    for (const std::string& library : libraries()) {
      if (before.contains(library)) continue;
      ++found;
      const std::string listing = folder_ / "listing";
      EXPECT_EQ(std::system(fmt::format("objdump -d {} > {}", library, listing).c_str()), 0);
      const std::string code = bytes_of_file(listing);
      const auto count = [&](const char* pattern) {
        const std::regex instruction(pattern);
        return static_cast<int>(
            std::distance(std::sregex_iterator(code.begin(), code.end(), instruction), {}));
      };
      counts.fused += count(R"(\bvf(n?m)(add|sub)\w+)");
      counts.products += count(R"(\bv?mul[ps]s\b)");
      counts.sums += count(R"(\bv?(add|sub)[ps]s\b)");
    }
    EXPECT_GT(found, 0) << "PoCL kept no code of " << one.name();
    return counts;
  }
  std::set<std::string> libraries() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "")) {
      if (entry.path().extension() == ".so") all.insert(entry.path().string());
    }
    return all;
  }
  const Folder folder_;
};

TEST_F(W51Pocl, W51_MachineCodeFusesWhatTheIrFusesAndNothingElse) {
  if (std::system("objdump --version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "objdump is not installed";
  }
  // Before PoCL is loaded, in a process of its own.
  ASSERT_EQ(::setenv("POCL_CACHE_DIR", (folder_ / "").c_str(), 1), 0);
  Runtime runtime(own_environment());
  const auto devices = runtime.by_backend("OpenCL");
  if (devices.empty() || !is_pocl(devices.front().properties()) ||
      !devices.front().properties().fast_fma) {
    GTEST_SKIP() << "PoCL with a fast fma is not installed";
  }
  const Device& device = devices.front();
  const auto sum_of_product =
      kernel("sum_of_product", [](Span<float> x, Span<float> w, Span<float> y, Int n) {
        auto i = global_thread_id();
        if_(i < n, [&] { y[i] = x[i] * w[i] + 0.37f; });
      });
  const Counts apart = compiled(device, sum_of_product.contraction(Contraction::off));
  EXPECT_EQ(apart.fused, 0);
  EXPECT_GT(apart.products, 0);
  EXPECT_GT(apart.sums, 0);
  const Counts fixed = compiled(device, sum_of_product);
  EXPECT_GT(fixed.fused, 0);
  EXPECT_EQ(fixed.products, 0);
  EXPECT_EQ(fixed.sums, 0);
  // The control: what is fused by hand is seen, also where nothing else is.
  const auto by_hand = kernel("by_hand", [](Span<float> x, Span<float> w, Span<float> y, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { y[i] = fma(x[i], w[i], 0.37f); });
  });
  EXPECT_GT(compiled(device, by_hand.contraction(Contraction::off)).fused, 0);
}

}  // namespace
}  // namespace salvo::tests
