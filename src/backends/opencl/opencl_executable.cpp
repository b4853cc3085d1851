// A kernel built for one OpenCL device, and how a launch's arguments become the kernel's.
// SPDX-License-Identifier: MIT
#include "backends/opencl/opencl_executable.hpp"

#include "backends/opencl/opencl_error.hpp"

namespace salvo::backends::opencl {

std::vector<std::byte> OpenclExecutable::binary() const {
  const auto bytes = ask<std::size_t>(
      [&](std::size_t size, void* target) {
        return api->GetProgramInfo(program.get(), CL_PROGRAM_BINARY_SIZES, size, target, nullptr);
      },
      "clGetProgramInfo");
  std::vector<std::byte> content(bytes);
  auto* target = reinterpret_cast<unsigned char*>(content.data());
  check(api->GetProgramInfo(program.get(), CL_PROGRAM_BINARIES, sizeof(target), &target, nullptr),
        "clGetProgramInfo", Errc::compile_failed);
  return content;
}

std::optional<std::vector<runtime::SourceParameter>> OpenclExecutable::source_parameters() const {
  std::vector<runtime::SourceParameter> all;
  for (const ArgumentPlan& argument : plan) all.push_back({argument.is_span, argument.bytes});
  return all;
}

}  // namespace salvo::backends::opencl
