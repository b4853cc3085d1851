// What the backend throws, and LLVM's messages as text.
// SPDX-License-Identifier: MIT
#include "backends/native/native_error.hpp"

#include <utility>

namespace salvo::backends::native {

void fail(Errc code, std::string operation, std::string message, std::string log) {
  Error::Details details;
  details.code = code;
  details.message = std::move(message);
  details.backend = kName;
  details.operation = std::move(operation);
  details.log = std::move(log);
  throw Error(std::move(details));
}

std::string take_message(const Api& api, char* message) {
  if (message == nullptr) return {};
  std::string text(message);
  api.DisposeMessage(message);
  return text;
}

std::string take_error(const Api& api, LlvmError* error) {
  if (error == nullptr) return {};
  char* message = api.GetErrorMessage(error);
  std::string text(message);
  api.DisposeErrorMessage(message);
  return text.empty() ? "LLVM gives no reason" : text;
}

}  // namespace salvo::backends::native
