#include <salvo/error.hpp>
#include "backends/vulkan/device.hpp"
#include "runtime/library.hpp"
#include "runtime/vector.hpp"
