// What tests steer the simulation with, and read from it. Device -1 is all devices. Names and their
// meaning are in SimulatedCuda.java, which calls these.

#include <cstdlib>
#include <cstring>

#include "configuration.h"
#include "environment.h"
#include "memory.h"
#include "pool.h"
#include "stream.h"

namespace sim {
namespace {

bool set_device(Device& device, const std::string& name, int64_t value) {
  if (name == "memory") {
    device.memory = static_cast<size_t>(value);
  } else if (name == "largest_piece") {
    device.largest_piece = static_cast<size_t>(value);
  } else if (name == "latency_ns") {
    device.latency = value;
  } else if (name == "host_to_device") {
    device.bandwidth[kHostToDevice] = value;
  } else if (name == "device_to_host") {
    device.bandwidth[kDeviceToHost] = value;
  } else if (name == "on_device") {
    device.bandwidth[kOnDevice] = value;
  } else if (name == "to_peer") {
    device.bandwidth[kToPeer] = value;
  } else if (name == "compute_capability") {
    device.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = static_cast<int>(value / 10);
    device.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = static_cast<int>(value % 10);
  } else if (name == "taken") {
    device.taken = value != 0;
  } else if (name == "lost") {
    device.lost = static_cast<int>(value);
  } else if (name.rfind("attribute.", 0) == 0) {
    device.attributes[atoi(name.c_str() + strlen("attribute."))] = static_cast<int>(value);
  } else {
    return false;
  }
  return true;
}

bool set(int ordinal, const std::string& name, int64_t value) {
  Machine& m = machine();
  if (name == "driver_version") {
    m.driver_version = static_cast<int>(value);
  } else if (name == "recycles_streams") {
    m.recycles_streams = value != 0;
  } else if (name == "pinned_limit") {
    m.pinned_limit = static_cast<size_t>(value);
  } else if (ordinal >= 0) {
    return device(ordinal) != nullptr && set_device(*device(ordinal), name, value);
  } else {
    for (Device* each : m.devices) {
      if (!set_device(*each, name, value)) {
        return false;
      }
    }
  }
  return true;
}

bool configured = false;  // under the machine's lock

void configure() {
  Machine& m = machine();
  m.driver_version = 13000;
  m.pinned_limit = SIZE_MAX;
  m.recycles_streams = false;
  m.ended_streams.clear();
  configure_as("TIDEPOOL_SIM", make_devices, set);
  configured = true;
}

// Reports at the process's end. From then on the driver is gone.
struct AtExit {
  ~AtExit() {
    deinitialized = true;
    report_to("TIDEPOOL_SIM_REPORT", "freed");
  }
} at_exit;

}  // namespace

void configure_once() {
  Locked locked;
  if (!configured) {
    configure();
  }
}

}  // namespace sim

using namespace sim;

// Ends all there is and starts again, with that many devices; negative: as the environment says. cuInit
// has to be called again. Must not be called while other threads call the driver.
EXPORT void tidepool_sim_reset(int devices) {
  configure_once();
  std::vector<Device*> all;
  std::set<Context*> contexts;
  {
    Locked locked;
    all = machine().devices;
    contexts.swap(machine().contexts);
  }
  for (Context* each : contexts) {
    end_context(*each);
  }
  for (Device* each : all) {
    each->lost = CUDA_SUCCESS;
    end_context(each->context);
    each->context.retained = 0;
  }
  Locked locked;
  Machine& m = machine();
  for (const auto& [address, size] : m.reservations) {
    give_back(address);
  }
  m.reservations.clear();
  m.freed.clear();
  m.initialized = false;
  configure();
  if (devices >= 0) {
    make_devices(devices);
  }
  forget_ledger();
}

// 0 when there is no such setting or device.
EXPORT int tidepool_sim_set(int device, const char* name, long long value) {
  configure_once();
  Locked locked;
  return set(device, name, value) ? 1 : 0;
}

EXPORT void tidepool_sim_peer(int from, int to, int reachable) {
  configure_once();
  Locked locked;
  Device* of = sim::device(from);
  if (of != nullptr && reachable != 0) {
    of->reachable.insert(to);
  } else if (of != nullptr) {
    of->reachable.erase(to);
  }
}

// The version of the cuda.h that the driver was compiled against, as that says it; 0 without one.
EXPORT int tidepool_sim_header(void) {
#ifdef TIDEPOOL_CUDA_HEADER
  return CUDA_VERSION;
#else
  return 0;
#endif
}
