// Runs kernels for the stand-in driver: an OpenCL driver for CPUs that takes LLVM bitcode, PoCL.
// SPDX-License-Identifier: MIT
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/level_zero/translation.hpp"
#include "runtime/library.hpp"

namespace salvo::test::level_zero {

// clang-format off
#define SALVO_ENGINE_FUNCTIONS(apply)                                                         \
  apply(BuildProgram) apply(CreateCommandQueueWithProperties) apply(CreateContext)            \
  apply(CreateKernel) apply(CreateProgramWithBinary) apply(EnqueueNDRangeKernel)              \
  apply(Finish) apply(GetDeviceIDs) apply(GetDeviceInfo) apply(GetPlatformIDs)                \
  apply(GetProgramBuildInfo) apply(ReleaseKernel) apply(ReleaseProgram) apply(SetKernelArg)   \
  apply(SetKernelArgSVMPointer)
// clang-format on

/// One argument of a launch, copied when the launch was appended.
struct ArgumentValue {
  bool is_set = false;
  std::vector<std::uint8_t> bytes;  // of a value or an address
  std::size_t shared_bytes = 0;     // of shared memory
};

using Three = std::array<std::uint32_t, 3>;

class Engine;

/// A module, built.
class Code {
 public:
  Code(Engine& engine, cl_program program) : engine_(engine), program_(program) {}
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  cl_program program() const { return program_; }

 private:
  Engine& engine_;
  cl_program program_;
};

/// A kernel's own copy, because OpenCL's arguments are part of it.
class CodeKernel {
 public:
  CodeKernel(Engine& engine, std::shared_ptr<Code> code, cl_kernel kernel)
      : engine_(engine), code_(std::move(code)), kernel_(kernel) {}
  ~CodeKernel();
  CodeKernel(const CodeKernel&) = delete;
  CodeKernel& operator=(const CodeKernel&) = delete;
  cl_kernel kernel() const { return kernel_; }

 private:
  Engine& engine_;
  std::shared_ptr<Code> code_;
  cl_kernel kernel_;
};

class Engine {
 public:
  /// Null if this machine has no OpenCL driver that takes bitcode.
  static Engine* instance();

  std::uint64_t memory_bytes() const { return memory_bytes_; }
  cl_device_fp_config single_config() const { return single_config_; }

  /// Null with the reason in `log` if it does not build.
  std::shared_ptr<Code> build(const std::vector<std::uint8_t>& bitcode, std::string& log);
  /// Null if there is no such kernel.
  std::shared_ptr<CodeKernel> kernel(const std::shared_ptr<Code>& code, const std::string& name);
  /// Returns when the kernel has run; whether it did.
  bool run(CodeKernel& kernel, const std::vector<Passing>& passing,
           const std::vector<ArgumentValue>& arguments, const Three& group, const Three& groups);

 private:
  friend class Code;
  friend class CodeKernel;
  Engine() = default;
  bool open();

  runtime::Library library_;
#define SALVO_ENGINE_DECLARE(name) runtime::Function<decltype(&::cl##name)> name##_;
  SALVO_ENGINE_FUNCTIONS(SALVO_ENGINE_DECLARE)
#undef SALVO_ENGINE_DECLARE
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::uint64_t memory_bytes_ = 0;
  cl_device_fp_config single_config_ = 0;
};

}  // namespace salvo::test::level_zero
