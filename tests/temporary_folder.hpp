// A folder of a test's own, removed with all that is in it.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace salvo::tests {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "salvo-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error(name + " cannot be made");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code failed;  // a test that made it unreadable cannot be helped here
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, failed);
    std::filesystem::remove_all(path_, failed);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace salvo::tests
