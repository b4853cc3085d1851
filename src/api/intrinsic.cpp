// Registering code of the program's own: backend names are checked, the rest is kept (K11).
// SPDX-License-Identifier: MIT
#include "salvo/intrinsic.hpp"

#include <fmt/format.h>

#include "ir/user_code.hpp"
#include "runtime/core.hpp"
#include "salvo/error.hpp"

namespace salvo::detail {

std::shared_ptr<ir::UserCode> make_user_code(std::string name, const CodeByBackend& code,
                                             ir::HostBody host, const IntrinsicTraits& traits) {
  auto made = std::make_shared<ir::UserCode>(std::move(name), traits.convergence, traits.pure);
  for (const auto& [backend, text] : code) define_user_code(*made, backend, text);
  made->define_host(std::move(host));
  return made;
}

void define_user_code(ir::UserCode& user, const std::string& backend, std::string code) {
  runtime::check_backend_name(backend);
  user.define(backend, std::move(code));
}

void define_user_code(ir::UserCode& user, ir::HostBody host) {
  user.define_host(std::move(host));
}

void host_index_out_of_range(std::size_t index, std::size_t size) {
  throw Error(Errc::check_failed,
              fmt::format("native code reads or writes element {} of {}", index, size));
}

}  // namespace salvo::detail
