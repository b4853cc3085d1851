// An object file in executable memory.
// SPDX-License-Identifier: MIT
#include "backends/native/native_object.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "backends/native/native_error.hpp"

namespace salvo::backends::native {
namespace {

/// The linker that all versions have: the one that LLVM 17 and later prefer looks for functions of
/// its own among the process's, where a library that was loaded for us alone is not found.
LlvmObjectLayer* make_layer(void* context, LlvmSession* session, const char*) {
  const Api& api = *static_cast<const Api*>(context);
  return api.OrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(session);
}

/// The same, telling gdb, and perf where this LLVM was built for it.
LlvmObjectLayer* make_told_layer(void* context, LlvmSession* session, const char* triple) {
  const Api& api = *static_cast<const Api*>(context);
  LlvmObjectLayer* layer = make_layer(context, session, triple);
  for (LlvmListener* listener :
       {api.CreateGDBRegistrationListener(), api.CreatePerfJITEventListener()}) {
    if (listener != nullptr) {
      api.OrcRTDyldObjectLinkingLayerRegisterJITEventListener(layer, listener);
    }
  }
  return layer;
}

}  // namespace

// A linker for each kernel: looking a name up in one that is shared needs functions that LLVM has
// since version 16 only, and this way the memory goes with the kernel.
Code::Code(const Api& api, std::span<const std::byte> object, bool symbols) : api_(api) {
  LlvmJitBuilder* builder = api_.OrcCreateLLJITBuilder();
  api_.OrcLLJITBuilderSetObjectLinkingLayerCreator(builder, symbols ? make_told_layer : make_layer,
                                                   const_cast<Api*>(&api_));
  if (const std::string failed = take_error(api_, api_.OrcCreateLLJIT(&jit_, builder));
      !failed.empty()) {
    refuse("LLVMOrcCreateLLJIT", failed);
  }
  try {
    add(object);
    if (symbols) write_perf_map(object);
  } catch (...) {
    take_error(api_, api_.OrcDisposeLLJIT(jit_));
    throw;
  }
}

Code::~Code() {
  // A destructor has nobody to tell that memory could not be given back.
  take_error(api_, api_.OrcDisposeLLJIT(jit_));
}

void Code::keep_report(void* context, LlvmError* error) {
  Code& code = *static_cast<Code*>(context);
  code.log_ += take_error(code.api_, error) + "\n";
}

void Code::refuse(const char* call, const std::string& message) {
  fail(Errc::compile_failed, call, "LLVM does not load the kernel's object file", log_ + message);
}

void Code::add(std::span<const std::byte> object) {
  api_.OrcExecutionSessionSetErrorReporter(api_.OrcLLJITGetExecutionSession(jit_), keep_report,
                                           this);
  LlvmDylib* main = api_.OrcLLJITGetMainJITDylib(jit_);
  // What has no instruction on this processor is a call to the C library: fmodf, roundf ...
  LlvmGenerator* process = nullptr;
  if (const std::string failed =
          take_error(api_, api_.OrcCreateDynamicLibrarySearchGeneratorForProcess(
                               &process, api_.OrcLLJITGetGlobalPrefix(jit_), nullptr, nullptr));
      !failed.empty()) {
    refuse("LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess", failed);
  }
  api_.OrcJITDylibAddGenerator(main, process);
  LlvmBuffer* copy = api_.CreateMemoryBufferWithMemoryRangeCopy(
      reinterpret_cast<const char*>(object.data()), object.size(), "kernel");
  if (const std::string failed = take_error(api_, api_.OrcLLJITAddObjectFile(jit_, main, copy));
      !failed.empty()) {
    refuse("LLVMOrcLLJITAddObjectFile", failed);
  }
}

void* Code::find(const std::string& symbol) {
  std::uint64_t address = 0;
  const std::string failed = take_error(api_, api_.OrcLLJITLookup(jit_, &address, symbol.c_str()));
  if (!failed.empty()) refuse("LLVMOrcLLJITLookup", failed);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// perf finds the names of generated code in a file of this name: address, size and name a line.
void Code::write_perf_map(std::span<const std::byte> object) {
  LlvmBuffer* copy = api_.CreateMemoryBufferWithMemoryRangeCopy(
      reinterpret_cast<const char*>(object.data()), object.size(), "kernel");
  char* message = nullptr;
  LlvmBinary* binary = api_.CreateBinary(copy, nullptr, &message);
  if (binary == nullptr) {
    api_.DisposeMemoryBuffer(copy);
    refuse("LLVMCreateBinary", take_message(api_, message));
  }
  LlvmSymbols* symbols = api_.ObjectFileCopySymbolIterator(binary);
  std::string lines;
  for (; api_.ObjectFileIsSymbolIteratorAtEnd(binary, symbols) == 0;
       api_.MoveToNextSymbol(symbols)) {
    const std::string name = api_.GetSymbolName(symbols);
    const std::uint64_t size = api_.GetSymbolSize(symbols);
    if (!name.starts_with("salvo_") || name.ends_with("_facts") || size == 0) continue;
    lines +=
        fmt::format("{:x} {:x} {}\n", reinterpret_cast<std::uintptr_t>(find(name)), size, name);
  }
  api_.DisposeSymbolIterator(symbols);
  api_.DisposeBinary(binary);
  api_.DisposeMemoryBuffer(copy);
  const std::string path = fmt::format("/tmp/perf-{}.map", getpid());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "a"),
                                                             std::fclose);
  if (!file || std::fwrite(lines.data(), 1, lines.size(), file.get()) != lines.size()) {
    fail(Errc::io, "perf map", fmt::format("{}: {}", path, std::strerror(errno)));
  }
}

}  // namespace salvo::backends::native
