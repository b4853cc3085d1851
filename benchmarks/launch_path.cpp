// What the launch path saves by asking nothing twice, and what a fill costs beside the driver's
// own.
// SPDX-License-Identifier: MIT
//
// Ratios of one run on one machine. What is called Level Zero's is a function table that answers at
// once: the host's own part, below what a driver takes to answer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <salvo/salvo.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "backends/level_zero/level_zero_device.hpp"
#include "backends/level_zero/level_zero_extensions.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "backends/opencl/opencl_executable.hpp"
#include "backends/vulkan/vulkan_device.hpp"
#include "cuda_driver.hpp"
#include "runtime/device_state.hpp"
#include "runtime/library.hpp"
#include "window/kernel_record.hpp"

namespace {

namespace level_zero = salvo::backends::level_zero;
namespace ze = level_zero::ze;

constexpr int kRounds = 31;

/// Median nanoseconds of one call among rounds of `repeats`.
double time_of(int repeats, const std::function<void()>& call) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) call();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    rounds.push_back(spent.count() / repeats);
  }
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

// Extensions.

std::uint32_t extension_count = 0;

ze::Result list_extensions(ze::Driver, std::uint32_t* count, ze::DriverExtensionProperties* list) {
  if (list) {
    for (std::uint32_t i = 0; i < *count; ++i) {
      std::strcpy(list[i].name.data(), "ZE_extension_with_a_name_of_usual_length");
    }
  }
  *count = extension_count;
  return ze::Result::success;
}

void measure_extensions() {
  level_zero::Api api;
  api.DriverGetExtensionProperties.assign(list_extensions);
  fmt::print(
      "| extensions | asked each time, ns | looked up in the memo, ns | a bit that was kept, ns | "
      "memo saves |\n|---|---|---|---|---|\n");
  for (const std::uint32_t count : {3u, 40u, 63u}) {
    extension_count = count;
    level_zero::ExtensionMemo memo;
    const auto held = memo.of(api, nullptr);
    volatile bool sink = false;
    const double asked = time_of(
        2000, [&] { sink = level_zero::read_extensions(api, nullptr).kernel_max_group_size; });
    const double looked_up =
        time_of(20000, [&] { sink = memo.of(api, nullptr)->kernel_max_group_size; });
    const double kept = time_of(200000, [&] { sink = held->kernel_max_group_size; });
    fmt::print("| {} | {:.0f} | {:.0f} | {:.1f} | {:.0f}x |\n", count, asked, looked_up, kept,
               asked / looked_up);
  }
}

// Launch configuration.

int an_object = 0;

template <typename Handle>
ze::Result make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&an_object);
  return ze::Result::success;
}

/// A driver that does nothing, at once.
void answer_everything(level_zero::Api& api) {
#define SALVO_ANSWER(name, parameters) api.name.assign([](auto...) { return ze::Result::success; });
  SALVO_LEVEL_ZERO_FUNCTIONS(SALVO_ANSWER)
#undef SALVO_ANSWER
  api.ContextCreate.assign(
      [](ze::Driver, const ze::ContextDesc*, ze::Context* made) { return make(made); });
  api.CommandListCreateImmediate.assign([](ze::Context, ze::Device, const ze::CommandQueueDesc*,
                                           ze::CommandList* made) { return make(made); });
  api.ModuleCreate.assign([](ze::Context, ze::Device, const ze::ModuleDesc*, ze::Module* made,
                             ze::BuildLog*) { return make(made); });
  api.KernelCreate.assign(
      [](ze::Module, const ze::KernelDesc*, ze::Kernel* made) { return make(made); });
  api.EventPoolCreate.assign([](ze::Context, const ze::EventPoolDesc*, std::uint32_t, ze::Device*,
                                ze::EventPool* made) { return make(made); });
  api.EventCreate.assign(
      [](ze::EventPool, const ze::EventDesc*, ze::Event* made) { return make(made); });
}

salvo::ir::Kernel scale() {
  const auto traced = salvo::kernel("scale", [](salvo::Span<float> x, salvo::Span<float> y,
                                                salvo::Value<float> by, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { y[i] = x[i] * by; });
  });
  return traced.record()->kernel;
}

void print_launch(std::string_view driver, double kept, double asked) {
  fmt::print("| {} | {:.0f} | {:.0f} | {:.2f} |\n", driver, kept, asked, asked / kept);
}

/// On an OpenCL device, with the questions that its launch configuration answers.
void measure_opencl_launches(const salvo::Device& device) {
  namespace opencl = salvo::backends::opencl;
  salvo::runtime::DeviceDriver& driver = device.state()->driver();
  const salvo::ir::Kernel kernel = scale();
  const auto executable = driver.build(kernel, driver.translate(kernel, {}), {});
  const salvo::runtime::Buffer buffer = driver.allocate(4096);
  const salvo::runtime::Argument arguments[] = {{.buffer = buffer, .length = 1024},
                                                {.buffer = buffer, .length = 1024},
                                                {.bits = 7},
                                                {.bits = 1024}};
  const salvo::runtime::LaunchShape shape{{1, 1, 1}, {1024, 1, 1}, 0};
  const auto launch = [&] { driver.launch(driver.queue(), *executable, shape, arguments); };
  const opencl::Api& api = opencl::shared_api();
  const cl_kernel object = static_cast<opencl::OpenclExecutable&>(*executable).kernel.get();
  cl_device_id id = nullptr;
  cl_program program = nullptr;
  api.GetKernelInfo(object, CL_KERNEL_PROGRAM, sizeof(program), &program, nullptr);
  api.GetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(id), &id, nullptr);
  const auto ask = [&] {
    std::size_t value = 0;
    for (const cl_kernel_work_group_info what :
         {CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
          CL_KERNEL_PRIVATE_MEM_SIZE}) {
      api.GetKernelWorkGroupInfo(object, id, what, sizeof(value), &value, nullptr);
    }
  };
  const double kept = time_of(200, launch);
  driver.finish(driver.queue());
  const double asked = time_of(200, [&] {
    ask();
    launch();
  });
  driver.finish(driver.queue());
  print_launch(device.id(), kept, asked);
  driver.release(buffer);
}

void measure_launches() {
  fmt::print("| driver | kept, ns | asked each time, ns | ratio |\n|---|---|---|---|\n");
  level_zero::Api api;
  answer_everything(api);
  level_zero::DriverFacts driver;
  driver.api_version = ze::version(1, 7);
  driver.extensions = std::make_shared<const level_zero::Extensions>();
  level_zero::DeviceFacts facts;
  facts.driver = &driver;
  facts.properties.max_threads_per_block = 1024;
  facts.spirv.flavour = salvo::codegen::spirv::Flavour::kernel;
  level_zero::LevelZeroDevice device(api, facts, {});
  const salvo::ir::Kernel kernel = scale();
  const auto executable = device.build(kernel, device.translate(kernel, {}), {});
  const salvo::runtime::Buffer buffer{4096, 4096, 4096};
  const salvo::runtime::Argument arguments[] = {{.buffer = buffer, .length = 1024},
                                                {.buffer = buffer, .length = 1024},
                                                {.bits = 7},
                                                {.bits = 1024}};
  const salvo::runtime::LaunchShape shape{{4, 1, 1}, {256, 1, 1}, 0};
  const double cached =
      time_of(20000, [&] { device.launch(device.queue(), *executable, shape, arguments); });

  // What a launch that keeps nothing asks before it: the kernel, the device, the extensions.
  extension_count = 40;
  api.DriverGetExtensionProperties.assign(list_extensions);
  const auto object = reinterpret_cast<ze::Kernel>(&an_object);
  const double asked = time_of(5000, [&] {
    ze::KernelProperties properties;
    api.KernelGetProperties(object, &properties);
    ze::DeviceComputeProperties limits;
    api.DeviceGetComputeProperties(nullptr, &limits);
    level_zero::read_extensions(api, nullptr);
    device.launch(device.queue(), *executable, shape, arguments);
  });
  print_launch("Level Zero, at once", cached, asked);
}

// Fill.

struct Sizes {
  std::size_t elements;
  int repeats;
};
constexpr Sizes kSizes[] = {{256, 200}, {std::size_t{1} << 22, 10}};

double salvo_fill(const salvo::Device& device, const Sizes& size) {
  salvo::Vector<float> x(size.elements);
  salvo::fill(device, x, 1.0f);
  device.synchronize();
  return time_of(size.repeats, [&] {
    salvo::fill(device, x, 2.0f);
    device.synchronize();
  });
}

void print_fill(std::string_view name, const Sizes& size, double ours, double theirs) {
  fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.2f} |\n", name, size.elements, ours * 1e-3,
             theirs * 1e-3, ours / theirs);
}

/// clEnqueueFillBuffer, on a context of its own.
void measure_opencl_fill(const salvo::Device& device) {
  const auto library = salvo::runtime::Library::open({"libOpenCL.so.1"});
  const auto find = [&]<typename Pointer>(Pointer, const char* name) {
    return reinterpret_cast<Pointer>(library.find(name));
  };
#define SALVO_FIND(name) const auto name = find(&::name, #name)
  SALVO_FIND(clGetPlatformIDs);
  SALVO_FIND(clGetDeviceIDs);
  SALVO_FIND(clCreateContext);
  SALVO_FIND(clCreateCommandQueue);
  SALVO_FIND(clCreateBuffer);
  SALVO_FIND(clEnqueueFillBuffer);
  SALVO_FIND(clFinish);
  SALVO_FIND(clReleaseMemObject);
#undef SALVO_FIND
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  cl_int status = clGetPlatformIDs(1, &platform, nullptr);
  if (status == CL_SUCCESS) status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, nullptr);
  if (status != CL_SUCCESS) return;
  const cl_context context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status);
  const cl_command_queue queue = clCreateCommandQueue(context, id, 0, &status);
  for (const Sizes& size : kSizes) {
    const double ours = salvo_fill(device, size);
    const cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE, size.elements * 4, nullptr, &status);
    const float one = 1.0f;
    const double theirs = time_of(size.repeats, [&] {
      clEnqueueFillBuffer(queue, buffer, &one, 4, 0, size.elements * 4, 0, nullptr, nullptr);
      clFinish(queue);
    });
    print_fill(device.id(), size, ours, theirs);
    clReleaseMemObject(buffer);
  }
}

/// cuMemsetD32Async on a stream of its own.
void measure_cuda_fill(const salvo::Device& device) {
  const bench::Cuda cuda;
  const auto set =
      cuda.function<int(bench::Address, unsigned, std::size_t, bench::Handle)>("cuMemsetD32Async");
  const auto wait = cuda.function<int(bench::Handle)>("cuStreamSynchronize");
  const bench::Handle stream = cuda.stream();
  for (const Sizes& size : kSizes) {
    const double ours = salvo_fill(device, size);
    const bench::Address buffer = cuda.allocate(size.elements * 4);
    const double theirs = time_of(size.repeats, [&] {
      bench::Cuda::check("cuMemsetD32Async", set(buffer, 0x40000000, size.elements, stream));
      bench::Cuda::check("cuStreamSynchronize", wait(stream));
    });
    print_fill(device.id(), size, ours, theirs);
  }
}

void measure_level_zero_fill(const salvo::Device& device) {
  auto& driver = static_cast<level_zero::LevelZeroDevice&>(device.state()->driver());
  for (const Sizes& size : kSizes) {
    const double ours = salvo_fill(device, size);
    const salvo::runtime::Buffer buffer = driver.allocate(size.elements * 4);
    const float one = 1.0f;
    const double theirs = time_of(size.repeats, [&] {
      driver.fill(driver.queue(), buffer, 0, &one, 4, size.elements * 4);
      driver.finish(driver.queue());
    });
    print_fill(device.id(), size, ours, theirs);
    driver.release(buffer);
  }
}

void measure_vulkan_fill(const salvo::Device& device) {
  salvo::runtime::DeviceDriver& driver = device.state()->driver();
  for (const Sizes& size : kSizes) {
    const double ours = salvo_fill(device, size);
    const salvo::runtime::Buffer buffer = driver.allocate(size.elements * 4);
    const double theirs = time_of(size.repeats, [&] {
      salvo::backends::vulkan::fill_by_driver(driver, buffer, 0, 0x40000000, size.elements * 4);
      driver.finish(driver.queue());
    });
    print_fill(device.id(), size, ours, theirs);
    driver.release(buffer);
  }
}

void measure_fills() {
  fmt::print(
      "| device | elements | fill, us | the driver's own, us | ratio |\n|---|---|---|---|---|\n");
  for (const salvo::Device& device : salvo::Device::all()) {
    if (device.backend() == "OpenCL") measure_opencl_fill(device);
    if (device.backend() == "CUDA/PTX") measure_cuda_fill(device);
    if (device.backend() == "LevelZero") measure_level_zero_fill(device);
    if (device.backend() == "Vulkan") measure_vulkan_fill(device);
  }
}

}  // namespace

int main() {
  fmt::print("\n### A driver's extensions\n\n");
  measure_extensions();
  fmt::print("\n### A repeat launch of four arguments\n\n");
  measure_launches();
  for (const salvo::Device& device : salvo::Device::by_backend("OpenCL")) {
    measure_opencl_launches(device);
  }
  fmt::print("\n### Fill, each waited for\n\n");
  measure_fills();
}
