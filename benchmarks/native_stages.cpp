// Where the first use of a kernel on Native spends its time.
// SPDX-License-Identifier: MIT
//
// salvo_bench_native_stages [LLVM's version]. Processor time, so that other programs count little.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <salvo/salvo.hpp>

#include "backends/native/native_compiler.hpp"
#include "backends/native/native_device.hpp"
#include "backends/native/native_module.hpp"
#include "backends/native/native_object.hpp"
#include "native_gallery.hpp"
#include "window/kernel_record.hpp"

namespace {

namespace gallery = bench::gallery;
namespace native = salvo::backends::native;

double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

constexpr std::array kStages{"LLVM's IR", "parse", "optimise", "generate", "load"};
using Times = std::array<double, kStages.size()>;

struct Stages {
  Times ms{};
  std::size_t text_bytes = 0;
  std::size_t object_bytes = 0;
};

Stages measure(const native::Api& api, const native::Compiler& compiler,
               native::NativeDevice& device, const salvo::ir::Kernel& kernel) {
  Stages stages;
  std::size_t stage = 0;
  double before = processor_ms();
  const auto done = [&] {
    const double now = processor_ms();
    stages.ms.at(stage++) = now - before;
    before = processor_ms();
  };
  const salvo::runtime::Program program = device.translate(kernel, {});
  done();
  const native::Compiler::Machine machine = compiler.machine();
  native::Module module(api, machine.get());
  module.parse(program.code);
  done();
  module.optimize();
  done();
  const std::vector<std::byte> object = module.object();
  done();
  native::Code code(api, object, false);
  code.find(program.entry);
  done();
  stages.text_bytes = program.code.size();
  stages.object_bytes = object.size();
  return stages;
}

void measure_all(unsigned version) {
  constexpr int kRounds = 9;
  native::Settings settings;
  settings.llvm = version;
  const std::unique_ptr<salvo::runtime::Backend> backend = native::make_backend(settings);
  const auto devices = backend->open();
  if (devices.empty()) throw std::runtime_error(backend->unavailable()->reason);
  auto& device = static_cast<native::NativeDevice&>(*devices.front());
  const native::Api& api = native::llvm_api(version);
  const native::Compiler compiler(api, native::host_processor(api, ""));
  fmt::print("LLVM {}: processor time, ms; medians of {} rounds\n\n| kernel |", api.version,
             kRounds);
  for (const char* stage : kStages) fmt::print(" {} |", stage);
  fmt::print(" together | text, KB | object, KB |\n|---|---|---|---|---|---|---|---|---|\n");

  std::vector<std::vector<double>> of_kernels(kStages.size() + 1);
  for (const auto& record :
       {gallery::twice().record(), gallery::saxpy().record(), gallery::triad().record(),
        gallery::stencil().record(), gallery::nbody().record(), gallery::mandelbrot().record(),
        gallery::black_scholes().record(), gallery::reduction().record(), gallery::scan().record(),
        gallery::matmul().record(), gallery::adam().record(), gallery::softmax().record(),
        gallery::gelu().record(), gallery::histogram().record(), gallery::transpose().record(),
        gallery::waves().record(), gallery::mix().record()}) {
    const salvo::ir::Kernel& kernel = record->contracted();
    std::vector<std::vector<double>> times(of_kernels.size());
    Stages last;
    for (int round = 0; round < kRounds; ++round) {
      last = measure(api, compiler, device, kernel);
      double sum = 0;
      for (std::size_t i = 0; i < last.ms.size(); ++i) {
        times[i].push_back(last.ms[i]);
        sum += last.ms[i];
      }
      times.back().push_back(sum);
    }
    fmt::print("| {} |", kernel.name);
    for (std::size_t i = 0; i < times.size(); ++i) {
      of_kernels[i].push_back(median(std::move(times[i])));
      fmt::print(" {:.2f} |", of_kernels[i].back());
    }
    fmt::print(" {:.1f} | {:.1f} |\n", static_cast<double>(last.text_bytes) * 1e-3,
               static_cast<double>(last.object_bytes) * 1e-3);
  }
  fmt::print("| **median** |");
  for (std::vector<double>& all : of_kernels) fmt::print(" {:.2f} |", median(std::move(all)));
  fmt::print(" | |\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure_all(argc > 1 ? static_cast<unsigned>(std::stoul(argv[1])) : 0);
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "salvo_bench_native_stages: {}\n", failure.what());
    return 1;
  }
}
