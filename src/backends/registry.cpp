// All built-in backends, a line each.
// SPDX-License-Identifier: MIT
#include "backends/registry.hpp"

#include "backends/cuda/cuda_backend.hpp"
#include "backends/hip/hip_backend.hpp"
#include "backends/interpreter/interpreter_backend.hpp"
#include "backends/level_zero/level_zero_backend.hpp"
#include "backends/metal/metal_backend.hpp"
#include "backends/native/native_backend.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "backends/vulkan/vulkan_backend.hpp"
#include "backends/webgpu/webgpu_backend.hpp"

namespace salvo::backends {

std::vector<std::unique_ptr<runtime::Backend>> built_in(const Settings& settings) {
  std::vector<std::unique_ptr<runtime::Backend>> all;
  all.push_back(cuda::make_ptx_backend());
  all.push_back(cuda::make_c_backend());
  all.push_back(hip::make_backend());
  all.push_back(metal::make_backend());
  all.push_back(level_zero::make_backend(settings.level_zero));
  all.push_back(opencl::make_backend());
  all.push_back(vulkan::make_backend(settings.vulkan));
  all.push_back(webgpu::make_backend());
  all.push_back(native::make_backend(settings.native));
  all.push_back(interpreter::make_backend(settings.interpreter));
  return all;
}

}  // namespace salvo::backends
