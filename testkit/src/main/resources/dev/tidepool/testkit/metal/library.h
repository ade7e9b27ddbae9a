// Code: libraries that were compiled from sources, their functions, and pipelines.
#pragma once

#include "device.h"
#include "buffer.h"
#include "metal_kernel_abi.h"

namespace sim {

struct Pipeline : Labelled {
  Pipeline(std::shared_ptr<Device> device, const tidepool_metal_kernel* code)
      : Labelled(class_of("MTLComputePipelineState")), device(std::move(device)), code(code) {}
  std::string describe() const override {
    return std::string("MTLComputePipelineState of ") + code->kernel.name;
  }

  size_t most_threads() const {
    size_t most = device->threads_per_group;
    return code->most_threads == 0 ? most : std::min<size_t>(most, code->most_threads);
  }

  const std::shared_ptr<Device> device;
  const tidepool_metal_kernel* const code;  // never unloaded
};

// A source as a loaded library, compiled unless it was before; null with a complaint.
const tidepool_metal_library* compile(const std::string& source, bool fast_math, bool precise_functions,
                                      std::string& complaint);

}  // namespace sim
