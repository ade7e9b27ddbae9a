// What tests steer the simulation with, and read from it. Device -1 is all devices. Names and their
// meaning are in SimulatedMetal.java, which calls these.

#include "command_queue.h"
#include "environment.h"

namespace sim {
namespace control {

bool set_device(Device& device, const std::string& name, int64_t value) {
  auto size = static_cast<size_t>(value);
  if (name == "memory") {
    device.memory = size;
  } else if (name == "working_set") {
    device.working_set = size;
  } else if (name == "max_buffer") {
    device.max_buffer = size;
  } else if (name == "unified") {
    device.unified = value != 0;
    device.family = value != 0 ? MTLGPUFamilyApple7 : MTLGPUFamilyMac2;
  } else if (name == "low_power") {
    device.low_power = value != 0;
  } else if (name == "removable") {
    device.removable = value != 0;
  } else if (name == "family") {
    device.family = value;
  } else if (name == "threads_per_group") {
    device.threads_per_group = size;
  } else if (name == "group_memory") {
    device.group_memory = size;
  } else if (name == "resources") {
    device.most_resources = value;
  } else if (name == "subnormals") {
    device.subnormals = value != 0;
  } else if (name == "latency_ns") {
    device.latency = value;
  } else if (name == "bandwidth") {
    device.bandwidth = value;
  } else if (name == "lost") {
    device.lost = static_cast<int>(value);
  } else {
    return false;
  }
  return true;
}

bool set(int ordinal, const std::string& name, int64_t value) {
  if (name == "headless") {
    headless = value != 0;
  } else if (name == "os_major") {
    os_major = static_cast<int>(value);
  } else if (name == "os_minor") {
    os_minor = static_cast<int>(value);
  } else {
    std::vector<std::shared_ptr<Device>> all = devices();
    if (ordinal >= static_cast<int>(all.size())) {
      return false;
    }
    for (const auto& device : all) {
      if ((ordinal < 0 || device->ordinal == ordinal) && !set_device(*device, name, value)) {
        return false;
      }
    }
  }
  return true;
}

std::recursive_mutex& lock() {
  static std::recursive_mutex& instance = *new std::recursive_mutex;
  return instance;
}
bool configured = false;  // under the lock

void configure() {
  configured = true;
  headless = false;
  os_major = 15;
  os_minor = 0;
  configure_as("TIDEPOOL_METAL_SIM", make_devices, set);
}

struct AtExit {
  ~AtExit() { report_to("TIDEPOOL_METAL_SIM_REPORT", "released"); }
} at_exit;

// Protocols and classes that have others' methods.
[[maybe_unused]] const bool inherited = [] {
  constexpr const char* kParents[][2] = {
      {"NSString", "NSObject"},
      {"NSArray", "NSObject"},
      {"NSError", "NSObject"},
      {"NSProcessInfo", "NSObject"},
      {"MTLDevice", "NSObject"},
      {"MTLResource", "NSObject"},
      {"MTLBuffer", "MTLResource"},
      {"MTLHeapDescriptor", "NSObject"},
      {"MTLHeap", "NSObject"},
      {"MTLCommandQueue", "NSObject"},
      {"MTLCommandBuffer", "NSObject"},
      {"MTLCommandEncoder", "NSObject"},
      {"MTLBlitCommandEncoder", "MTLCommandEncoder"},
      {"MTLComputeCommandEncoder", "MTLCommandEncoder"},
      {"MTLEvent", "NSObject"},
      {"MTLSharedEvent", "MTLEvent"},
      {"MTLFence", "NSObject"},
      {"MTLCompileOptions", "NSObject"},
      {"MTLLibrary", "NSObject"},
      {"MTLFunction", "NSObject"},
      {"MTLComputePipelineState", "NSObject"},
      {"MTLComputePipelineReflection", "NSObject"},
      {"MTLBinding", "NSObject"},
      {"MTLBufferBinding", "MTLBinding"},
      {"MTLThreadgroupBinding", "MTLBinding"},
  };
  for (const auto& [type, parent] : kParents) {
    class_of(type).parent = &class_of(parent);
  }
  return true;
}();

}  // namespace control

void configure_once() {
  std::lock_guard guard(control::lock());
  if (!control::configured) {
    control::configure();
  }
}

std::string leaks() { return registry().leaks(); }

}  // namespace sim

using namespace sim;

// Ends all there is and starts again, with that many devices; negative: as the environment says. Must not
// be called while other threads send messages.
EXPORT void tidepool_sim_reset(int count) {
  configure_once();
  end_queues();
  registry().clear();
  std::lock_guard guard(control::lock());
  control::configure();
  if (count >= 0) {
    make_devices(count);
  }
  forget_ledger();
}

// 0 when there is no such setting or device.
EXPORT int tidepool_sim_set(int device, const char* name, long long value) {
  configure_once();
  return control::set(device, name, value) ? 1 : 0;
}

// Writes what all methods take and answer to the buffer; answers how long the text is.
EXPORT long tidepool_sim_methods(char* buffer, long size) { return answer(methods(), buffer, size); }
