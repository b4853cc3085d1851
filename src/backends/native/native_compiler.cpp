// From the text of a module to the bytes of an object file.
// SPDX-License-Identifier: MIT
#include "backends/native/native_compiler.hpp"

#include <utility>

#include "backends/native/native_error.hpp"
#include "backends/native/native_module.hpp"

namespace salvo::backends::native {

Compiler::Compiler(const Api& api, Processor processor)
    : api_(api), processor_(std::move(processor)) {
  char* message = nullptr;
  if (api_.GetTargetFromTriple(processor_.triple.c_str(), &target_, &message) != 0) {
    fail(Errc::backend_unavailable, "LLVMGetTargetFromTriple", take_message(api_, message));
  }
}

Compiler::~Compiler() {
  for (LlvmMachine* machine : idle_) api_.DisposeTargetMachine(machine);
}

Compiler::Machine Compiler::machine() const {
  const auto keep = [this](LlvmMachine* machine) {
    const std::lock_guard guard(lock_);
    idle_.push_back(machine);
  };
  {
    const std::lock_guard guard(lock_);
    if (!idle_.empty()) {
      Machine machine(idle_.back(), keep);
      idle_.pop_back();
      return machine;
    }
    idle_.reserve(++machines_);  // so that giving back needs no memory
  }
  // The default level takes longer, and its code is as fast or slower.
  return {api_.CreateTargetMachine(target_, processor_.triple.c_str(), processor_.name.c_str(),
                                   processor_.features.c_str(), kOptimizeLess, kRelocationPic,
                                   kCodeModelJit),
          keep};
}

std::vector<std::byte> Compiler::compile(const std::string& text) const {
  const Machine machine = this->machine();
  Module module(api_, machine.get());
  module.parse(text);
  module.optimize();
  return module.object();
}

}  // namespace salvo::backends::native
