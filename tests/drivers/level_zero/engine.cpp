// Runs kernels for the stand-in driver: an OpenCL driver for CPUs that takes LLVM bitcode, PoCL.
// SPDX-License-Identifier: MIT
#include "drivers/level_zero/engine.hpp"

#include <cstring>
#include <string_view>

namespace salvo::test::level_zero {

Code::~Code() {
  engine_.ReleaseProgram_(program_);
}

CodeKernel::~CodeKernel() {
  engine_.ReleaseKernel_(kernel_);
}

Engine* Engine::instance() {
  // Never destroyed, as OpenCL drivers tear themselves down at exit.
  static Engine* const engine = []() -> Engine* {
    auto* made = new Engine;
    return made->open() ? made : nullptr;
  }();
  return engine;
}

bool Engine::open() {
  library_ = runtime::Library::open({"libOpenCL.so.1"});
  if (!library_) return false;
  bool complete = true;
#define SALVO_ENGINE_RESOLVE(name) complete &= name##_.resolve(library_, "cl" #name);
  SALVO_ENGINE_FUNCTIONS(SALVO_ENGINE_RESOLVE)
#undef SALVO_ENGINE_RESOLVE
  if (!complete) return false;
  cl_uint count = 0;
  if (GetPlatformIDs_(0, nullptr, &count) != CL_SUCCESS) return false;
  std::vector<cl_platform_id> platforms(count);
  GetPlatformIDs_(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    char extensions[8192] = "";
    if (GetDeviceIDs_(platform, CL_DEVICE_TYPE_CPU, 1, &device_, nullptr) != CL_SUCCESS) continue;
    GetDeviceInfo_(device_, CL_DEVICE_EXTENSIONS, sizeof(extensions) - 1, extensions, nullptr);
    if (std::strstr(extensions, "cl_khr_spir") == nullptr) continue;
    GetDeviceInfo_(device_, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory_bytes_), &memory_bytes_,
                   nullptr);
    GetDeviceInfo_(device_, CL_DEVICE_SINGLE_FP_CONFIG, sizeof(single_config_), &single_config_,
                   nullptr);
    cl_int status = CL_SUCCESS;
    context_ = CreateContext_(nullptr, 1, &device_, nullptr, nullptr, &status);
    if (status != CL_SUCCESS) continue;
    queue_ = CreateCommandQueueWithProperties_(context_, device_, nullptr, &status);
    if (status == CL_SUCCESS) return true;
  }
  return false;
}

std::shared_ptr<Code> Engine::build(const std::vector<std::uint8_t>& bitcode, std::string& log) {
  const unsigned char* bytes = bitcode.data();
  const std::size_t size = bitcode.size();
  cl_int status = CL_SUCCESS;
  cl_int of_binary = CL_SUCCESS;
  const cl_program program =
      CreateProgramWithBinary_(context_, 1, &device_, &size, &bytes, &of_binary, &status);
  if (status != CL_SUCCESS) return nullptr;
  auto code = std::make_shared<Code>(*this, program);
  status = BuildProgram_(program, 1, &device_, "-x spir -spir-std=1.2", nullptr, nullptr);
  if (status == CL_SUCCESS) return code;
  log.resize(1 << 16);
  std::size_t length = 0;
  if (GetProgramBuildInfo_(program, device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(),
                           &length) != CL_SUCCESS) {
    length = 0;
  }
  log.resize(length);
  return nullptr;
}

std::shared_ptr<CodeKernel> Engine::kernel(const std::shared_ptr<Code>& code,
                                           const std::string& name) {
  cl_int status = CL_SUCCESS;
  const cl_kernel kernel = CreateKernel_(code->program(), name.c_str(), &status);
  if (status != CL_SUCCESS) return nullptr;
  return std::make_shared<CodeKernel>(*this, code, kernel);
}

bool Engine::run(CodeKernel& kernel, const std::vector<Passing>& passing,
                 const std::vector<ArgumentValue>& arguments, const Three& group,
                 const Three& groups) {
  for (cl_uint i = 0; i < passing.size(); ++i) {
    const ArgumentValue& argument = arguments[i];
    cl_int status = CL_SUCCESS;
    if (passing[i].how == Passing::How::shared) {
      status = SetKernelArg_(kernel.kernel(), i, argument.shared_bytes, nullptr);
    } else if (passing[i].how == Passing::How::pointer) {
      void* pointer = nullptr;
      std::memcpy(&pointer, argument.bytes.data(), sizeof(pointer));
      status = SetKernelArgSVMPointer_(kernel.kernel(), i, pointer);
    } else {
      status = SetKernelArg_(kernel.kernel(), i, argument.bytes.size(), argument.bytes.data());
    }
    if (status != CL_SUCCESS) return false;
  }
  std::size_t local[3];
  std::size_t global[3];
  for (int axis = 0; axis < 3; ++axis) {
    local[axis] = group[axis];
    global[axis] = std::size_t{group[axis]} * groups[axis];
  }
  return EnqueueNDRangeKernel_(queue_, kernel.kernel(), 3, nullptr, global, local, 0, nullptr,
                               nullptr) == CL_SUCCESS &&
         Finish_(queue_) == CL_SUCCESS;
}

}  // namespace salvo::test::level_zero
