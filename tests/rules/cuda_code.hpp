// Machine code of NVIDIA's chips: made from PTX by the toolkit's assembler, and read.
// SPDX-License-Identifier: MIT
#pragma once

#include <elf.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace salvo::tests {

/// A folder of the running test, removed at its end.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::path(testing::TempDir()) /
              fmt::format("salvo_emitted_{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// ptxas of the CUDA toolkit, where it is installed.
class Assembler {
 public:
  Assembler() {
    for (const char* path : {"/usr/local/cuda/bin/ptxas", "ptxas"}) {
      if (std::system(fmt::format("{} --version > /dev/null 2>&1", path).c_str()) != 0) continue;
      path_ = path;
      return;
    }
  }
  bool is_there() const { return !path_.empty(); }

  /// The cubin for sm_90. A refusal fails the test, with the assembler's words.
  std::string assemble(const std::string& ptx) const {
    std::ofstream(folder_ / "one.ptx") << ptx;
    const std::string command =
        fmt::format("{} -arch=sm_90 -o {} {} > {} 2>&1", path_, folder_ / "one.cubin",
                    folder_ / "one.ptx", folder_ / "log");
    if (std::system(command.c_str()) != 0) {
      ADD_FAILURE() << bytes_of_file(folder_ / "log");
      return {};
    }
    return bytes_of_file(folder_ / "one.cubin");
  }

 private:
  const Folder folder_;
  std::string path_;
};

/// From Volta on an instruction has 16 bytes.
struct Instruction {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Of a cubin's functions, or of the one of this name.
inline std::vector<Instruction> instructions_of(const std::string& cubin,
                                                std::string_view function = "") {
  std::vector<Instruction> all;
  if (cubin.size() < sizeof(Elf64_Ehdr)) return all;
  Elf64_Ehdr head;
  std::memcpy(&head, cubin.data(), sizeof head);
  std::vector<Elf64_Shdr> sections(head.e_shnum);
  std::memcpy(sections.data(), cubin.data() + head.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    const std::string_view name =
        cubin.data() + sections[head.e_shstrndx].sh_offset + section.sh_name;
    if (section.sh_type != SHT_PROGBITS || !name.starts_with(".text.")) continue;
    if (!function.empty() && name.substr(6) != function) continue;
    for (std::size_t at = 0; at + 16 <= section.sh_size; at += 16) {
      Instruction& one = all.emplace_back();
      std::memcpy(&one.low, cubin.data() + section.sh_offset + at, sizeof one.low);
      std::memcpy(&one.high, cubin.data() + section.sh_offset + at + 8, sizeof one.high);
    }
  }
  return all;
}

}  // namespace salvo::tests
