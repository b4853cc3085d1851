// What the demo runs: a program that can be put back to its start, run on a device and read out.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <salvo/salvo.hpp>
#include <span>
#include <string>
#include <vector>

#include "picture.hpp"

namespace salvo::tool {

class DemoProgram {
 public:
  virtual ~DemoProgram() = default;
  virtual std::string name() const = 0;
  /// One sentence on what it computes, with its sizes.
  virtual std::string description() const = 0;
  /// Writes the inputs anew, so that every run starts from the same bits.
  virtual void reset() = 0;
  /// Makes the launches of one round; returns how many.
  virtual int run(const Device& device) = 0;
  /// Observes the device: the bytes of every output, valid until the next reset or run.
  virtual std::vector<std::span<const std::byte>> outputs() = 0;
  /// Compares one round after a reset with plain host code, within the given rounding. Returns what
  /// is wrong, or nothing.
  virtual std::string check() = 0;
};

std::unique_ptr<DemoProgram> make_two_kernels();
std::unique_ptr<DemoProgram> make_adam();

/// The pyramid can also write what it made as pictures.
class PyramidProgram : public DemoProgram {
 public:
  /// Writes every level and the rebuilt picture into `folder`, which exists; returns the files.
  virtual std::vector<std::filesystem::path> write_pictures(
      const std::filesystem::path& folder) = 0;
};
std::unique_ptr<PyramidProgram> make_pyramid(const Picture& picture);

template <class T>
std::span<const std::byte> bytes_of(const Vector<T>& vector) {
  return std::as_bytes(vector.read());
}

}  // namespace salvo::tool
