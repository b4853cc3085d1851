// What the run-time compilers of CUDA C++ and HIP C++ have in common: their calls and their errors.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_compiler.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "salvo/error.hpp"

namespace salvo::backends::cuda_family {

void RuntimeCompiler::fail(std::string_view operation, int status, std::string log) const {
  constexpr int kCompilation = 6;
  throw Error(Error::Details{.code = Errc::compile_failed,
                             .message = status == kCompilation
                                            ? fmt::format("{} refused the source", names_.spoken)
                                            : fmt::format("{} error {}", names_.spoken, status),
                             .backend = std::string(names_.backend),
                             .operation = fmt::format("{}{}", names_.prefix, operation),
                             .log = std::move(log)});
}

std::string RuntimeCompiler::take(runtime::Library library, std::vector<Form*> forms) {
  shared_object_ = std::move(library);
  std::string missing;
  const auto resolve = [&](auto& function, std::string_view name) {
    const std::string symbol = fmt::format("{}{}", names_.prefix, name);
    if (!function.resolve(shared_object_, symbol.c_str())) missing += " " + symbol;
  };
  resolve(version_, "Version");
  resolve(create_, "CreateProgram");
  resolve(destroy_, "DestroyProgram");
  resolve(compile_, "CompileProgram");
  resolve(log_size_, "GetProgramLogSize");
  resolve(log_, "GetProgramLog");
  for (Form* form : forms) {
    resolve(form->size, form->symbol + "Size");
    resolve(form->bytes, form->symbol);
  }
  if (!missing.empty()) return fmt::format("{} lacks{}", shared_object_.name(), missing);
  if (version_(&major_, &minor_) != 0) {
    return fmt::format("{} does not tell its version", shared_object_.name());
  }
  return {};
}

std::string RuntimeCompiler::log_of(void* program) const {
  // The status of the compilation is what matters: a log that cannot be had stays empty.
  std::size_t bytes = 0;
  if (log_size_(program, &bytes) != 0 || bytes <= 1) return {};
  std::string log(bytes, '\0');
  if (log_(program, log.data()) != 0) return {};
  log.resize(std::min(log.size(), log.find('\0')));
  return log;
}

std::string RuntimeCompiler::compile_to(const Form& form, const std::string& code,
                                        const std::string& file,
                                        const std::vector<std::string>& options) const {
  void* program = nullptr;
  check("CreateProgram", create_(&program, code.c_str(), file.c_str(), 0, nullptr, nullptr));
  const auto destroy = [&](void* handle) { destroy_(&handle); };
  const std::unique_ptr<void, decltype(destroy)> owner(program, destroy);

  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const int status = compile_(program, static_cast<int>(texts.size()), texts.data());
  if (status != 0) fail("CompileProgram", status, log_of(program));
  std::size_t bytes = 0;
  check(form.symbol + "Size", form.size(program, &bytes));
  std::string result(bytes, '\0');
  check(form.symbol, form.bytes(program, result.data()));
  return result;
}

}  // namespace salvo::backends::cuda_family
