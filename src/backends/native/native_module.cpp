// A kernel's module on its way through LLVM: parsed, optimised, made an object file.
// SPDX-License-Identifier: MIT
#include "backends/native/native_module.hpp"

#include <fmt/format.h>

#include "backends/native/native_error.hpp"

namespace salvo::backends::native {
namespace {

/// Threads are vectors already: what is left for LLVM is to clean up, to hoist and to unroll loops
/// of a known length. Its default pipeline for O2 takes twice as long for code that is no faster,
/// and copies of loops of any length half as long again.
std::string passes(unsigned version) {
  // From 18 on the plain name ends the process where a second round would find something to do.
  const char* combine = version < 18 ? "instcombine" : "instcombine<no-verify-fixpoint>";
  return fmt::format(
      "function(sroa,early-cse<memssa>,simplifycfg,{0},simplifycfg,loop-mssa(loop-rotate,licm),"
      "simplifycfg,{0},gvn,loop-unroll<no-runtime>,{0},simplifycfg)",
      combine);
}

}  // namespace

Module::Module(const Api& api, LlvmMachine* machine)
    : api_(api), machine_(machine), context_(api.ContextCreate()) {
  // Without a handler LLVM prints, and ends the process on an error.
  api_.ContextSetDiagnosticHandler(context_, keep_diagnostic, this);
}

Module::~Module() {
  if (module_ != nullptr) api_.DisposeModule(module_);
  api_.ContextDispose(context_);
}

void Module::keep_diagnostic(LlvmDiagnostic* diagnostic, void* context) {
  Module& module = *static_cast<Module*>(context);
  module.log_ += take_message(module.api_, module.api_.GetDiagInfoDescription(diagnostic)) + "\n";
}

void Module::refuse(const char* call, const std::string& message) const {
  fail(Errc::compile_failed, call, "LLVM does not take the kernel", log_ + message);
}

void Module::parse(const std::string& text) {
  // The text may not end with a zero byte: a copy does.
  LlvmBuffer* source =
      api_.CreateMemoryBufferWithMemoryRangeCopy(text.data(), text.size(), "kernel");
  char* message = nullptr;
  if (api_.ParseIRInContext(context_, source, &module_, &message) != 0) {
    refuse("LLVMParseIRInContext", take_message(api_, message));
  }
  const std::string triple = take_message(api_, api_.GetTargetMachineTriple(machine_));
  api_.SetTarget(module_, triple.c_str());
  LlvmDataLayout* layout = api_.CreateTargetDataLayout(machine_);
  api_.SetModuleDataLayout(module_, layout);
  api_.DisposeTargetData(layout);
  message = nullptr;
  const bool invalid = api_.VerifyModule(module_, kReturnVerifierStatus, &message) != 0;
  const std::string faults = take_message(api_, message);
  if (invalid) refuse("LLVMVerifyModule", faults);
}

void Module::optimize() {
  LlvmPassOptions* options = api_.CreatePassBuilderOptions();
  const std::string failed =
      take_error(api_, api_.RunPasses(module_, passes(api_.version).c_str(), machine_, options));
  api_.DisposePassBuilderOptions(options);
  if (!failed.empty()) refuse("LLVMRunPasses", failed);
}

std::vector<std::byte> Module::object() {
  LlvmBuffer* emitted = nullptr;
  char* message = nullptr;
  if (api_.TargetMachineEmitToMemoryBuffer(machine_, module_, kObjectFile, &message, &emitted) !=
      0) {
    refuse("LLVMTargetMachineEmitToMemoryBuffer", take_message(api_, message));
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(api_.GetBufferStart(emitted));
  std::vector<std::byte> object(bytes, bytes + api_.GetBufferSize(emitted));
  api_.DisposeMemoryBuffer(emitted);
  return object;
}

}  // namespace salvo::backends::native
