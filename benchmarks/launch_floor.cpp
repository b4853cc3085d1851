// Time of 64 small kernels on a CUDA device: by the driver in every way it has, and by Salvo.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <salvo/salvo.hpp>

#include "backends/cuda/cuda_backend.hpp"
#include "cuda_driver.hpp"
#include "window/kernel_record.hpp"

namespace {

using bench::Address;
using bench::Cuda;
using bench::Handle;

constexpr int kLaunches = 64;
constexpr int kStreams = 8;
constexpr int kRounds = 400;
constexpr int kWarmup = 100;

double now() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

auto make_kernel(bool fuses = true) {
  return salvo::kernel(
      "axpb", [fuses](salvo::Span<float> x, salvo::Span<float> y, salvo::Float a, salvo::Int n) {
        if (!fuses) salvo::no_fuse();
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] { y[i] = x[i] * a + 1.0f; });
      });
}

/// One way to run the 64 launches. `a` is the scalar argument of the round.
struct Way {
  std::string name;
  std::function<void(float a)> issue;  // until the host may go on
  std::function<void()> wait;
  std::function<std::vector<float>()> result;
  std::vector<double> host;
  std::vector<double> total;
};

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

/// Buffers and arguments of the launches by hand. Dependent ones pass one buffer to the next.
class ByHand {
 public:
  ByHand(const Cuda& cuda, Handle kernel, int n, bool dependent)
      : cuda_(cuda), kernel_(kernel), n_(n) {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
    std::vector<float> start(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      start[static_cast<std::size_t>(i)] = static_cast<float>(i % 1000) * 0.125f;
    for (int k = 0; k < kLaunches; ++k) {
      const bool first = k == 0 || !dependent;
      from_[k] = first ? cuda.allocate(bytes) : to_[k - 1];
      to_[k] = cuda.allocate(bytes);
      if (first)
        cuda.call("cuMemcpyHtoD_v2", from_[k], static_cast<const void*>(start.data()), bytes);
    }
    for (int k = 0; k < kLaunches; ++k) parameters_[k] = {&from_[k], &to_[k], &a_, &n_};
    launch_ = cuda.function<int(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                unsigned, Handle, void**, void**)>("cuLaunchKernel");
    synchronize_ = cuda.function<int(Handle)>("cuStreamSynchronize");
    graph_launch_ = cuda.function<int(Handle, Handle)>("cuGraphLaunch");
    update_ = cuda.function<int(Handle, Handle, const bench::KernelNode*)>(
        "cuGraphExecKernelNodeSetParams");
    for (Handle& stream : streams_) stream = cuda.stream();
  }
  ~ByHand() {
    for (int k = 0; k < kLaunches; ++k) {
      if (k == 0 || from_[k] != to_[k - 1]) cuda_.call("cuMemFree_v2", from_[k]);
      cuda_.call("cuMemFree_v2", to_[k]);
    }
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  void loop(float a, int streams) {
    a_ = a;
    for (int k = 0; k < kLaunches; ++k) {
      Cuda::check("cuLaunchKernel", launch_(kernel_, grid(), 1, 1, kBlock, 1, 1, 0,
                                            streams_[static_cast<std::size_t>(k % streams)],
                                            parameters_[k].data(), nullptr));
    }
  }
  /// The arguments in one block, as a library passes them that does not know their types.
  void packed_loop(float a) {
    struct {
      Address from;
      Address to;
      float a;
      int n;
    } block{0, 0, a, n_};
    std::size_t bytes = sizeof(block);
    void* extra[] = {reinterpret_cast<void*>(std::uintptr_t{1}), &block,
                     reinterpret_cast<void*>(std::uintptr_t{2}), &bytes, nullptr};
    for (int k = 0; k < kLaunches; ++k) {
      block.from = from_[k];
      block.to = to_[k];
      Cuda::check("cuLaunchKernel",
                  launch_(kernel_, grid(), 1, 1, kBlock, 1, 1, 0, streams_[0], nullptr, extra));
    }
  }
  void wait(int streams) {
    for (int s = 0; s < streams; ++s) {
      Cuda::check("cuStreamSynchronize", synchronize_(streams_[static_cast<std::size_t>(s)]));
    }
  }

  struct Graph {
    Handle executable = nullptr;
    std::vector<Handle> nodes;
  };
  Graph graph(float a, bool line) {
    a_ = a;
    Handle plan = nullptr;
    Graph made;
    cuda_.call("cuGraphCreate", &plan, 0U);
    for (int k = 0; k < kLaunches; ++k) {
      const bench::KernelNode node = kernel_node(k);
      Handle created = nullptr;
      const std::size_t before = line && k > 0 ? 1 : 0;
      cuda_.call("cuGraphAddKernelNode", &created, plan,
                 static_cast<const Handle*>(before ? &made.nodes.back() : nullptr), before, &node);
      made.nodes.push_back(created);
    }
    cuda_.call("cuGraphInstantiateWithFlags", &made.executable, plan, 0ULL);
    return made;
  }
  void launch(const Graph& graph) {
    Cuda::check("cuGraphLaunch", graph_launch_(graph.executable, streams_[0]));
  }
  void update(const Graph& graph, float a) {
    a_ = a;
    for (int k = 0; k < kLaunches; ++k) {
      const bench::KernelNode node = kernel_node(k);
      Cuda::check("cuGraphExecKernelNodeSetParams",
                  update_(graph.executable, graph.nodes[static_cast<std::size_t>(k)], &node));
    }
  }

  /// All outputs, one after another, and cleared for the next way.
  std::vector<float> take() {
    std::vector<float> all(static_cast<std::size_t>(n_) * kLaunches);
    const auto bytes = static_cast<std::size_t>(n_) * sizeof(float);
    for (int k = 0; k < kLaunches; ++k) {
      cuda_.call("cuMemcpyDtoH_v2",
                 static_cast<void*>(all.data() +
                                    static_cast<std::size_t>(k) * static_cast<std::size_t>(n_)),
                 to_[k], bytes);
      cuda_.call("cuMemsetD8_v2", to_[k], static_cast<unsigned char>(0xff), bytes);
    }
    return all;
  }

 private:
  static constexpr unsigned kBlock = 256;
  unsigned grid() const { return (static_cast<unsigned>(n_) + kBlock - 1) / kBlock; }
  bench::KernelNode kernel_node(int k) {
    bench::KernelNode node;
    node.function = kernel_;
    node.grid[0] = grid();
    node.block[0] = kBlock;
    node.parameters = parameters_[k].data();
    return node;
  }

  const Cuda& cuda_;
  Handle kernel_;
  int n_;
  float a_ = 0;
  Address from_[kLaunches] = {};
  Address to_[kLaunches] = {};
  std::array<void*, 4> parameters_[kLaunches] = {};
  std::array<Handle, kStreams> streams_{};
  int (*launch_)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                 Handle, void**, void**);
  int (*synchronize_)(Handle);
  int (*graph_launch_)(Handle, Handle);
  int (*update_)(Handle, Handle, const bench::KernelNode*);
};

/// The same launches by Salvo's backend, below the window and the runtime.
class ByBackend {
 public:
  ByBackend(salvo::runtime::DeviceDriver& driver, const salvo::ir::Kernel& kernel, int n,
            bool dependent)
      : driver_(driver), n_(n), code_(driver.build(kernel, driver.translate(kernel, {}), {})) {
    std::vector<float> start(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      start[static_cast<std::size_t>(i)] = static_cast<float>(i % 1000) * 0.125f;
    for (int k = 0; k < kLaunches; ++k) {
      auto& arguments = arguments_[static_cast<std::size_t>(k)];
      if (k == 0 || !dependent) {
        arguments[0] = vector();
        driver.write(driver.queue(), arguments[0].buffer, 0, start.data(), bytes());
      } else {
        arguments[0] = arguments_[static_cast<std::size_t>(k) - 1][1];
      }
      arguments[1] = vector();
      arguments[3].bits = static_cast<std::uint32_t>(n);
    }
  }
  ~ByBackend() {
    driver_.finish(driver_.queue());
    for (const salvo::runtime::Buffer& buffer : buffers_) driver_.release(buffer);
  }
  ByBackend(const ByBackend&) = delete;
  ByBackend& operator=(const ByBackend&) = delete;

  void issue(float a) {
    const salvo::runtime::LaunchShape shape{{(static_cast<std::uint32_t>(n_) + 255) / 256, 1, 1},
                                            {256, 1, 1}};
    for (auto& arguments : arguments_) {
      arguments[2].bits = std::bit_cast<std::uint32_t>(a);
      driver_.launch(driver_.queue(), *code_, shape, arguments);
    }
  }
  void wait() { driver_.finish(driver_.queue()); }
  std::vector<float> take() {
    std::vector<float> all(static_cast<std::size_t>(n_) * kLaunches);
    for (std::size_t k = 0; k < kLaunches; ++k) {
      driver_.read(driver_.queue(), all.data() + k * static_cast<std::size_t>(n_),
                   arguments_[k][1].buffer, 0, bytes());
    }
    return all;
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(n_) * sizeof(float); }
  salvo::runtime::Argument vector() {
    salvo::runtime::Argument argument;
    argument.buffer = buffers_.emplace_back(driver_.allocate(bytes()));
    argument.length = static_cast<std::uint64_t>(n_);
    return argument;
  }

  salvo::runtime::DeviceDriver& driver_;
  int n_;
  std::unique_ptr<salvo::runtime::Executable> code_;
  std::vector<salvo::runtime::Buffer> buffers_;
  std::array<std::array<salvo::runtime::Argument, 4>, kLaunches> arguments_;
};

/// How Salvo is set. Each setting has a runtime of its own: a program sets the window once, and one
/// that changes between rounds would never see a window again.
struct Setting {
  std::string name;
  std::uint32_t limit;  // of groups and of members; 0: window off
  bool fuses = true;
  bool same_arguments = false;  // those of the first round, as graphs that are not updated
};
const std::vector<Setting> kSettings{
    {"Salvo, window off", 0},
    {"Salvo, window 8/8", 8},
    {"Salvo, window 256/256", 256},
    {"Salvo, none fuses, 8/8", 8, false},
    {"Salvo, none fuses, replayed, 256/256", 256, false},
    {"Salvo, replayed, same arguments, 256/256", 256, false, true},
};

/// The same launches by Salvo.
class BySalvo {
 public:
  BySalvo(salvo::Runtime& runtime, const std::string& backend, const Setting& setting, int n,
          bool dependent)
      : window_(runtime.window()),
        device_(runtime.by_backend(backend).at(0)),
        setting_(setting),
        n_(n),
        kernel_(make_kernel(setting.fuses)) {
    window_.set_planner(salvo::Planner::always);
    window_.set_enabled(setting.limit > 0);
    if (setting.limit > 0) window_.set_limits(setting.limit, setting.limit);
    for (int k = 0; k < kLaunches; ++k) {
      if (k == 0 || !dependent) {
        salvo::Vector<float> x(static_cast<std::size_t>(n));
        auto values = x.write();
        for (int i = 0; i < n; ++i)
          values[static_cast<std::size_t>(i)] = static_cast<float>(i % 1000) * 0.125f;
        inputs_.push_back(std::move(x));
      }
      outputs_.emplace_back(static_cast<std::size_t>(n));
    }
  }
  void issue(float a) {
    const bool dependent = inputs_.size() == 1;
    if (setting_.same_arguments) a = 2.0f;
    for (std::size_t k = 0; k < kLaunches; ++k) {
      auto& x = k == 0 || !dependent ? inputs_[k] : outputs_[k - 1];
      device_.launch(kernel_, salvo::over(n_), x, outputs_[k], a, n_);
    }
    window_.flush();
  }
  std::vector<float> take() {
    std::vector<float> all;
    for (const auto& output : outputs_) {
      const auto values = output.read();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  void wait() const { device_.synchronize(); }

 private:
  salvo::Window& window_;
  salvo::Device device_;
  const Setting& setting_;
  int n_;
  decltype(make_kernel()) kernel_;
  std::vector<salvo::Vector<float>> inputs_;
  std::vector<salvo::Vector<float>> outputs_;
};

void measure(const Cuda& cuda, Handle kernel, std::deque<salvo::Runtime>& runtimes,
             salvo::runtime::DeviceDriver& driver, const std::string& backend, int n,
             bool dependent) {
  ByHand hand(cuda, kernel, n, dependent);
  const ByHand::Graph line = hand.graph(2.0f, true);
  const ByHand::Graph parallel = hand.graph(2.0f, false);

  std::vector<Way> ways;
  const auto by_hand = [&](std::string name, int streams, std::function<void(float)> issue) {
    ways.push_back({std::move(name),
                    std::move(issue),
                    [&hand, streams] { hand.wait(streams); },
                    [&hand] { return hand.take(); },
                    {},
                    {}});
  };
  by_hand("cuLaunchKernel loop", 1, [&](float a) { hand.loop(a, 1); });
  by_hand("the same, packed arguments", 1, [&](float a) { hand.packed_loop(a); });
  if (!dependent)
    by_hand("cuLaunchKernel, 8 streams", kStreams, [&](float a) { hand.loop(a, kStreams); });
  by_hand("graph, a line", 1, [&](float) { hand.launch(line); });
  if (!dependent) {
    by_hand("graph, parallel", 1, [&](float) { hand.launch(parallel); });
    by_hand("graph, parallel, updated", 1, [&](float a) {
      hand.update(parallel, a);
      hand.launch(parallel);
    });
  }
  ByBackend alone(driver, make_kernel().record()->contracted(), n, dependent);
  ways.push_back({"Salvo's backend alone",
                  [&alone](float a) { alone.issue(a); },
                  [&alone] { alone.wait(); },
                  [&alone] { return alone.take(); },
                  {},
                  {}});
  std::deque<BySalvo> settings;
  for (std::size_t s = 0; s < kSettings.size(); ++s) {
    BySalvo& mine = settings.emplace_back(runtimes[s], backend, kSettings[s], n, dependent);
    ways.push_back({kSettings[s].name,
                    [&mine](float a) { mine.issue(a); },
                    [&mine] { mine.wait(); },
                    [&mine] { return mine.take(); },
                    {},
                    {}});
  }

  std::vector<float> expected;
  for (Way& way : ways) {
    way.issue(2.0f);
    way.wait();
    const std::vector<float> got = way.result();
    if (expected.empty()) expected = got;
    if (got.size() != expected.size() ||
        std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) != 0) {
      throw std::runtime_error(way.name + " computed other bytes than the loop");
    }
  }
  for (int round = -kWarmup; round < kRounds; ++round) {
    const float a = round % 2 == 0 ? 2.0f : 3.0f;
    for (Way& way : ways) {
      const double start = now();
      way.issue(a);
      const double issued = now();
      way.wait();
      const double end = now();
      if (round < 0) continue;
      way.host.push_back(issued - start);
      way.total.push_back(end - start);
    }
  }
  const double loop = quantile(ways[0].total, 0.5);
  fmt::print("\n{} {} launches, n = {}; {} interleaved rounds\n", kLaunches,
             dependent ? "dependent" : "independent", n, kRounds);
  fmt::print("| way | host µs | end to end µs | p99 µs | of the loop |\n|---|---|---|---|---|\n");
  for (const Way& way : ways) {
    const double total = quantile(way.total, 0.5);
    fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.2f}× |\n", way.name, quantile(way.host, 0.5),
               total, quantile(way.total, 0.99), loop / total);
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::string backend = count > 1 ? arguments[1] : "CUDA/PTX";
    std::deque<salvo::Runtime> runtimes;
    for (std::size_t s = 0; s < kSettings.size(); ++s) runtimes.emplace_back();
    const auto devices = runtimes.front().by_backend(backend);
    if (devices.empty()) {
      fmt::print("no {} device here\n", backend);
      return 0;
    }
    const auto own = backend == "CUDA/C" ? salvo::backends::cuda::make_c_backend()
                                         : salvo::backends::cuda::make_ptx_backend();
    const auto drivers = own->open();
    salvo::runtime::DeviceDriver* const driver = drivers.at(0).get();
    const Cuda cuda;
    const Handle kernel = cuda.kernel(make_kernel().source("CUDA/PTX"), "axpb_kernel");
    fmt::print("{}, {}, {}\n", devices[0].properties().name, devices[0].properties().driver_version,
               backend);
    for (const bool dependent : {false, true}) {
      for (const int n : {256, 4096, 65'536, 1'048'576})
        measure(cuda, kernel, runtimes, *driver, backend, n, dependent);
    }
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "launch_floor: {}\n", failure.what());
    return 1;
  }
}
