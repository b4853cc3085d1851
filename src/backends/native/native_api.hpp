// LLVM's functions that the backend calls, declared here and found in its library at run time.
// SPDX-License-Identifier: MIT
//
// Only the C interface, which LLVM keeps from release to release; nothing of LLVM is needed to
// build. The declarations follow the headers under llvm-c/ of LLVM 14 to 19.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/library.hpp"

namespace salvo::backends::native {

// LLVM's handles. Each is a pointer to something of its own.
struct LlvmContext;
struct LlvmModule;
struct LlvmBuffer;
struct LlvmTarget;
struct LlvmMachine;
struct LlvmDataLayout;
struct LlvmPassOptions;
struct LlvmError;
struct LlvmDiagnostic;
struct LlvmJit;
struct LlvmJitBuilder;
struct LlvmSession;
struct LlvmDylib;
struct LlvmGenerator;
struct LlvmObjectLayer;
struct LlvmListener;
struct LlvmBinary;
struct LlvmSymbols;
struct LlvmSections;

using LlvmBool = int;
using LlvmDiagnosticHandler = void (*)(LlvmDiagnostic*, void* context);
using LlvmErrorReporter = void (*)(void* context, LlvmError*);
using LlvmLayerCreator = LlvmObjectLayer* (*)(void* context, LlvmSession*, const char* triple);

// Values of LLVM's enumerations.
inline constexpr int kOptimizeLess = 1;          // LLVMCodeGenLevelLess
inline constexpr int kRelocationPic = 2;         // LLVMRelocPIC
inline constexpr int kCodeModelJit = 1;          // LLVMCodeModelJITDefault
inline constexpr int kObjectFile = 1;            // LLVMObjectFile
inline constexpr int kReturnVerifierStatus = 2;  // LLVMReturnStatusAction

#define SALVO_LLVM_FUNCTIONS(X)                                                                    \
  X(ContextCreate, LlvmContext* (*)())                                                             \
  X(ContextDispose, void (*)(LlvmContext*))                                                        \
  X(ContextSetDiagnosticHandler, void (*)(LlvmContext*, LlvmDiagnosticHandler, void*))             \
  X(GetDiagInfoDescription, char* (*)(LlvmDiagnostic*))                                            \
  X(DisposeMessage, void (*)(char*))                                                               \
  X(CreateMemoryBufferWithMemoryRangeCopy, LlvmBuffer* (*)(const char*, std::size_t, const char*)) \
  X(GetBufferStart, const char* (*)(LlvmBuffer*))                                                  \
  X(GetBufferSize, std::size_t (*)(LlvmBuffer*))                                                   \
  X(DisposeMemoryBuffer, void (*)(LlvmBuffer*))                                                    \
  X(ParseIRInContext, LlvmBool (*)(LlvmContext*, LlvmBuffer*, LlvmModule**, char**))               \
  X(VerifyModule, LlvmBool (*)(LlvmModule*, int, char**))                                          \
  X(DisposeModule, void (*)(LlvmModule*))                                                          \
  X(SetTarget, void (*)(LlvmModule*, const char*))                                                 \
  X(SetModuleDataLayout, void (*)(LlvmModule*, LlvmDataLayout*))                                   \
  X(GetDefaultTargetTriple, char* (*)())                                                           \
  X(GetHostCPUName, char* (*)())                                                                   \
  X(GetHostCPUFeatures, char* (*)())                                                               \
  X(GetTargetFromTriple, LlvmBool (*)(const char*, LlvmTarget**, char**))                          \
  X(CreateTargetMachine,                                                                           \
    LlvmMachine* (*)(LlvmTarget*, const char*, const char*, const char*, int, int, int))           \
  X(DisposeTargetMachine, void (*)(LlvmMachine*))                                                  \
  X(GetTargetMachineTriple, char* (*)(LlvmMachine*))                                               \
  X(CreateTargetDataLayout, LlvmDataLayout* (*)(LlvmMachine*))                                     \
  X(DisposeTargetData, void (*)(LlvmDataLayout*))                                                  \
  X(TargetMachineEmitToMemoryBuffer,                                                               \
    LlvmBool (*)(LlvmMachine*, LlvmModule*, int, char**, LlvmBuffer**))                            \
  X(CreatePassBuilderOptions, LlvmPassOptions* (*)())                                              \
  X(DisposePassBuilderOptions, void (*)(LlvmPassOptions*))                                         \
  X(RunPasses, LlvmError* (*)(LlvmModule*, const char*, LlvmMachine*, LlvmPassOptions*))           \
  X(GetErrorMessage, char* (*)(LlvmError*))                                                        \
  X(DisposeErrorMessage, void (*)(char*))                                                          \
  X(OrcCreateLLJITBuilder, LlvmJitBuilder* (*)())                                                  \
  X(OrcLLJITBuilderSetObjectLinkingLayerCreator,                                                   \
    void (*)(LlvmJitBuilder*, LlvmLayerCreator, void*))                                            \
  X(OrcCreateLLJIT, LlvmError* (*)(LlvmJit**, LlvmJitBuilder*))                                    \
  X(OrcDisposeLLJIT, LlvmError* (*)(LlvmJit*))                                                     \
  X(OrcLLJITGetExecutionSession, LlvmSession* (*)(LlvmJit*))                                       \
  X(OrcExecutionSessionSetErrorReporter, void (*)(LlvmSession*, LlvmErrorReporter, void*))         \
  X(OrcLLJITGetMainJITDylib, LlvmDylib* (*)(LlvmJit*))                                             \
  X(OrcLLJITGetGlobalPrefix, char (*)(LlvmJit*))                                                   \
  X(OrcCreateDynamicLibrarySearchGeneratorForProcess,                                              \
    LlvmError* (*)(LlvmGenerator**, char, void*, void*))                                           \
  X(OrcJITDylibAddGenerator, void (*)(LlvmDylib*, LlvmGenerator*))                                 \
  X(OrcLLJITAddObjectFile, LlvmError* (*)(LlvmJit*, LlvmDylib*, LlvmBuffer*))                      \
  X(OrcLLJITLookup, LlvmError* (*)(LlvmJit*, std::uint64_t*, const char*))                         \
  X(OrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager, LlvmObjectLayer* (*)(LlvmSession*)) \
  X(OrcRTDyldObjectLinkingLayerRegisterJITEventListener,                                           \
    void (*)(LlvmObjectLayer*, LlvmListener*))                                                     \
  X(CreateGDBRegistrationListener, LlvmListener* (*)())                                            \
  X(CreatePerfJITEventListener, LlvmListener* (*)())                                               \
  X(CreateBinary, LlvmBinary* (*)(LlvmBuffer*, LlvmContext*, char**))                              \
  X(DisposeBinary, void (*)(LlvmBinary*))                                                          \
  X(ObjectFileCopySymbolIterator, LlvmSymbols* (*)(LlvmBinary*))                                   \
  X(ObjectFileIsSymbolIteratorAtEnd, LlvmBool (*)(LlvmBinary*, LlvmSymbols*))                      \
  X(MoveToNextSymbol, void (*)(LlvmSymbols*))                                                      \
  X(GetSymbolName, const char* (*)(LlvmSymbols*))                                                  \
  X(GetSymbolSize, std::uint64_t (*)(LlvmSymbols*))                                                \
  X(DisposeSymbolIterator, void (*)(LlvmSymbols*))

/// The functions, named as LLVM does without its prefix.
struct Api {
#define SALVO_LLVM_MEMBER(name, ...) runtime::Function<__VA_ARGS__> name;
  SALVO_LLVM_FUNCTIONS(SALVO_LLVM_MEMBER)
#undef SALVO_LLVM_MEMBER

  runtime::Library shared_object;
  unsigned version = 0;  // 14 ...
  std::string build;     // which library of that version: its file's name and size
  std::string reason;    // why there is none; empty: there is

  /// The newest LLVM there is, or `version` if that is not 0; ready to compile for the host.
  void load(unsigned version);

 private:
  bool resolve();
};

/// Loaded once a version and kept for the life of the process: LLVM registers things of its own at
/// exit, and generated code may still run then.
const Api& llvm_api(unsigned version);

}  // namespace salvo::backends::native
