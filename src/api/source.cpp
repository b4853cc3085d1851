// Kernels in the device's own language: reading them, compiling once, and launching (R9, R10).
// SPDX-License-Identifier: MIT
#include "salvo/source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "api/access.hpp"
#include "runtime/stream.hpp"

namespace salvo {
namespace {

struct Language {
  std::string_view extension;
  std::string_view name;
};
constexpr std::array<Language, 7> kLanguages{{{".cl", "OpenCL C"},
                                              {".cu", "CUDA C"},
                                              {".hip", "HIP"},
                                              {".metal", "MSL"},
                                              {".comp", "GLSL"},
                                              {".spv", "SPIR-V"},
                                              {".ptx", "PTX"}}};

Error failure_of(Errc code, const char* operation, const std::string& kernel, std::string message,
                 const std::source_location* where = nullptr) {
  Error::Details details;
  details.code = code;
  details.operation = operation;
  details.kernel = kernel;
  details.message = std::move(message);
  if (where) details.launch = SourceLocation::from(*where);
  return Error(std::move(details));
}

}  // namespace

Source Source::from_file(const std::string& path, std::string entry,
                         std::vector<std::string> options) {
  const auto language = std::ranges::find_if(
      kLanguages, [&](const Language& one) { return path.ends_with(one.extension); });
  if (language == kLanguages.end()) {
    std::vector<std::string_view> known;
    for (const Language& one : kLanguages) known.push_back(one.extension);
    throw failure_of(Errc::invalid_argument, "read source", entry,
                     fmt::format("the extension of {} names no language; those that do are {}",
                                 path, fmt::join(known, ", ")));
  }
  std::ifstream file(path, std::ios::binary);
  std::string code{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    throw failure_of(Errc::io, "read source", entry, fmt::format("{} cannot be read", path));
  }
  return {std::string(language->name), std::move(code), std::move(entry), std::move(options)};
}

namespace detail {

ExecutablePtr compile(const std::shared_ptr<runtime::DeviceState>& device, const Source& source,
                      const std::source_location& where) {
  window::throw_pending();
  try {
    return device->executable(
        runtime::UserSource{source.language, source.code, source.entry, source.options});
  } catch (const Error& failure) {
    throw window::located(failure, source.entry, where);
  }
}

void launch(const std::shared_ptr<runtime::DeviceState>& device, const std::string& entry,
            runtime::Executable& executable, const Dims& dims,
            std::span<const SourceArgument> arguments, runtime::StreamState* stream) {
  if (stream && stream->device() != device) {
    throw failure_of(
        Errc::invalid_argument, "launch", entry,
        fmt::format("a kernel of {} on a stream of {}", device->id(), stream->device()->id()),
        &dims.where());
  }
  api::window_of(*device).submit(*device,
                                 window::SourceLaunch{entry, executable, dims, arguments, stream});
}

}  // namespace detail

RawKernel::RawKernel(const Device& device, const Source& source, std::source_location where)
    : device_(device), entry_(source.entry), code_(detail::compile(device.state(), source, where)) {
  if (const auto parameters = code_->source_parameters()) arguments_.resize(parameters->size());
}

void RawKernel::set_argument(std::size_t index, Argument argument) {
  // Where the driver does not say how many there are, more than any kernel takes is still a
  // mistake.
  constexpr std::size_t kMost = 1024;
  const auto parameters = code_->source_parameters();
  if (index >= (parameters ? parameters->size() : kMost)) {
    throw failure_of(
        Errc::invalid_argument, "set argument", entry_,
        parameters
            ? fmt::format("there is no argument {}; the kernel takes {}", index, parameters->size())
            : fmt::format("there is no argument {}; kernels take at most {}", index, kMost));
  }
  if (index >= arguments_.size()) arguments_.resize(index + 1);
  arguments_[index] = std::move(argument);
}

void RawKernel::launch(const Dims& dims, runtime::StreamState* stream) const {
  std::vector<std::size_t> missing;
  std::vector<detail::SourceArgument> packed;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (const std::optional<Argument>& argument = arguments_[i]) {
      packed.push_back(argument->value);
    } else {
      missing.push_back(i);
    }
  }
  if (!missing.empty()) {
    throw failure_of(Errc::invalid_argument, "launch", entry_,
                     fmt::format("argument{} {} {} not set", missing.size() > 1 ? "s" : "",
                                 fmt::join(missing, ", "), missing.size() > 1 ? "are" : "is"),
                     &dims.where());
  }
  detail::launch(device_.state(), entry_, *code_, dims, packed, stream);
}

}  // namespace salvo
