// Time of the first launch in a new process, on every device that compiles: nothing kept on disk,
// all kept, and Salvo's disk cache alone. Starts itself once a measurement.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <salvo/salvo.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
constexpr int kProcesses = 7;
constexpr int kCount = 1 << 16;

// One step of the Adam optimiser: of the size that programs have.
auto adam() {
  using salvo::Float, salvo::Int, salvo::Span;
  return salvo::kernel("adam", [](Span<float> weight, Span<const float> gradient, Span<float> mean,
                                  Span<float> square, Float rate, Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] {
      const Float g = gradient[i];
      const Float m = mean[i] * 0.9f + g * 0.1f;
      const Float s = square[i] * 0.999f + g * g * 0.001f;
      mean[i] = m;
      square[i] = s;
      weight[i] = weight[i] - rate * m / (salvo::sqrt(s) + 1e-8f);
    });
  });
}

// What a process does: prints the milliseconds from the launch call to the device's being idle.
int measure(const std::string& id) {
  const salvo::Device device = salvo::Device::get(id);
  const auto kernel = adam();
  salvo::Vector<float> weight(kCount, 1.0f), gradient(kCount, 0.5f), mean(kCount), square(kCount);
  const auto before = std::chrono::steady_clock::now();
  device.launch(kernel, salvo::over(kCount), weight, gradient, mean, square, 0.01f, kCount);
  device.synchronize();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - before;
  fmt::print("{}\n", spent.count());
  return 0;
}

// The milliseconds that a new process measures.
double first_launch(const std::string& id) {
  const std::string command =
      fmt::format("'{}' --measure '{}'", fs::read_symlink("/proc/self/exe").string(), id);
  const std::unique_ptr<FILE, int (*)(FILE*)> process(popen(command.c_str(), "r"), pclose);
  double milliseconds = 0;
  if (!process || std::fscanf(process.get(), "%lf", &milliseconds) != 1) {
    throw std::runtime_error(command + " failed");
  }
  return milliseconds;
}

double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

// Medians of kProcesses first launches. PoCL, NVIDIA's driver and Mesa keep caches of their own.
class Folders {
 public:
  explicit Folders(fs::path root) : root_(std::move(root)) {
    setenv("SALVO_CACHE_DIR", (root_ / "salvo").c_str(), 1);
    for (const char* name : {"POCL_CACHE_DIR", "CUDA_CACHE_PATH", "MESA_SHADER_CACHE_DIR"}) {
      setenv(name, (root_ / "driver").c_str(), 1);
    }
  }
  ~Folders() {
    std::error_code failed;  // a leftover in the temporary folder is no reason to fail
    fs::remove_all(root_, failed);
  }

  double measure(const std::string& id, bool keeps_salvo, bool keeps_driver) const {
    std::vector<double> all;
    for (int i = 0; i < kProcesses; ++i) {
      if (!keeps_salvo) fs::remove_all(root_ / "salvo");
      if (!keeps_driver) fs::remove_all(root_ / "driver");
      fs::create_directories(root_ / "driver");
      all.push_back(first_launch(id));
    }
    return median(std::move(all));
  }

 private:
  fs::path root_;
};

std::string temporary_folder() {
  std::string name = (fs::temp_directory_path() / "salvo-first-launch-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error(name + " cannot be made");
  return name;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--measure") return measure(argv[2]);
  const Folders folders(temporary_folder());
  fmt::print("{:<16} {:>10} {:>10} {:>10} {:>10} {:>12}   ms, median of {} processes\n", "device",
             "cold", "warm", "cold/warm", "Salvo warm", "cold/Salvo", kProcesses);
  for (const salvo::Device& device : salvo::Device::all()) {
    if (device.backend() == "Interpreter") continue;  // compiles nothing
    const double cold = folders.measure(device.id(), false, false);
    const double warm = folders.measure(device.id(), true, true);
    const double salvo_warm = folders.measure(device.id(), true, false);
    fmt::print("{:<16} {:>10.2f} {:>10.2f} {:>10.1f} {:>10.2f} {:>12.1f}\n", device.id(), cold,
               warm, cold / warm, salvo_warm, cold / salvo_warm);
  }
}
