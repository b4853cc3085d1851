// From the text of a module to the bytes of an object file.
// SPDX-License-Identifier: MIT
#include "backends/native/native_compiler.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "backends/native/native_error.hpp"

namespace salvo::backends::native {
namespace {

/// Threads are vectors already: what is left for LLVM is to clean up, to hoist and to unroll. Its
/// default pipeline for O2 takes twice as long for code that is no faster.
std::string passes(unsigned version) {
  // From 18 on the plain name ends the process where a second round would find something to do.
  const char* combine = version < 18 ? "instcombine" : "instcombine<no-verify-fixpoint>";
  return fmt::format(
      "function(sroa,early-cse<memssa>,simplifycfg,{0},simplifycfg,loop-mssa(loop-rotate,licm),"
      "simplifycfg,{0},gvn,loop-unroll,{0},simplifycfg)",
      combine);
}

/// LLVM's objects go away through the function that frees them.
template <typename T>
auto owned(T* object, const runtime::Function<void (*)(T*)>& free) {
  return std::unique_ptr<T, void (*)(T*)>(object, free.get());
}

/// Without a handler LLVM prints, and ends the process on an error.
void keep_diagnostic(LlvmDiagnostic* diagnostic, void* context) {
  auto& [api, log] = *static_cast<std::pair<const Api*, std::string>*>(context);
  log += take_message(*api, api->GetDiagInfoDescription(diagnostic)) + "\n";
}

}  // namespace

Compiler::Compiler(const Api& api, Processor processor)
    : api_(api), processor_(std::move(processor)) {
  char* message = nullptr;
  if (api_.GetTargetFromTriple(processor_.triple.c_str(), &target_, &message) != 0) {
    fail(Errc::backend_unavailable, "LLVMGetTargetFromTriple", take_message(api_, message));
  }
}

std::vector<std::byte> Compiler::compile(const std::string& text) const {
  std::pair<const Api*, std::string> log(&api_, "");
  const auto context = owned(api_.ContextCreate(), api_.ContextDispose);
  api_.ContextSetDiagnosticHandler(context.get(), keep_diagnostic, &log);
  const auto refuse = [&](const char* call, std::string message) {
    fail(Errc::compile_failed, call, "LLVM does not take the kernel", log.second + message);
  };

  // The text may not end with a zero byte: a copy does.
  LlvmBuffer* source =
      api_.CreateMemoryBufferWithMemoryRangeCopy(text.data(), text.size(), "kernel");
  LlvmModule* parsed = nullptr;
  char* message = nullptr;
  if (api_.ParseIRInContext(context.get(), source, &parsed, &message) != 0) {
    refuse("LLVMParseIRInContext", take_message(api_, message));
  }
  const auto module = owned(parsed, api_.DisposeModule);
  message = nullptr;
  const bool invalid = api_.VerifyModule(module.get(), kReturnVerifierStatus, &message) != 0;
  const std::string faults = take_message(api_, message);
  if (invalid) refuse("LLVMVerifyModule", faults);

  const auto machine =
      owned(api_.CreateTargetMachine(target_, processor_.triple.c_str(), processor_.name.c_str(),
                                     processor_.features.c_str(), kOptimizeDefault, kRelocationPic,
                                     kCodeModelJit),
            api_.DisposeTargetMachine);
  const auto layout = owned(api_.CreateTargetDataLayout(machine.get()), api_.DisposeTargetData);
  api_.SetTarget(module.get(), processor_.triple.c_str());
  api_.SetModuleDataLayout(module.get(), layout.get());

  const auto options = owned(api_.CreatePassBuilderOptions(), api_.DisposePassBuilderOptions);
  const std::string failed = take_error(
      api_,
      api_.RunPasses(module.get(), passes(api_.version).c_str(), machine.get(), options.get()));
  if (!failed.empty()) refuse("LLVMRunPasses", failed);

  LlvmBuffer* emitted = nullptr;
  message = nullptr;
  if (api_.TargetMachineEmitToMemoryBuffer(machine.get(), module.get(), kObjectFile, &message,
                                           &emitted) != 0) {
    refuse("LLVMTargetMachineEmitToMemoryBuffer", take_message(api_, message));
  }
  const auto object = owned(emitted, api_.DisposeMemoryBuffer);
  const auto* bytes = reinterpret_cast<const std::byte*>(api_.GetBufferStart(object.get()));
  return {bytes, bytes + api_.GetBufferSize(object.get())};
}

}  // namespace salvo::backends::native
