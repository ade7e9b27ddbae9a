// What tests steer the simulation with, and read from it. Device -1 is all devices. Names and their
// meaning are in SimulatedCuda.java, which calls these.
//
// The environment's TIDEPOOL_SIM holds "name=value" pairs with blanks between; a name is "devices", one
// of the machine's, or one of a device's, with "2." before it for device 2 alone.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "configuration.h"
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

// Devices first: the other settings are theirs.
void configure() {
  const char* environment = getenv("TIDEPOOL_SIM");
  std::istringstream settings(environment == nullptr ? "" : environment);
  std::vector<std::pair<std::string, int64_t>> pairs;
  int devices = 1;
  for (std::string setting; settings >> setting;) {
    size_t equals = setting.find('=');
    std::string name = setting.substr(0, equals);
    int64_t value = equals == std::string::npos ? 1 : atoll(setting.c_str() + equals + 1);
    if (name == "devices") {
      devices = static_cast<int>(value);
    } else {
      pairs.emplace_back(name, value);
    }
  }
  Machine& m = machine();
  m.driver_version = 13000;
  m.pinned_limit = SIZE_MAX;
  make_devices(devices);
  for (const auto& [name, value] : pairs) {
    size_t dot = name.find('.');
    bool numbered = dot != std::string::npos && isdigit(name[0]) != 0;
    if (!set(numbered ? atoi(name.c_str()) : -1, numbered ? name.substr(dot + 1) : name, value)) {
      fprintf(stderr, "TIDEPOOL_SIM: there is no %s\n", name.c_str());
    }
  }
  configured = true;
}

// Says at the process's end what is wrong, where TIDEPOOL_SIM_REPORT names a file to append it to. From then
// on the driver is gone.
struct AtExit {
  ~AtExit() {
    deinitialized = true;
    const char* path = getenv("TIDEPOOL_SIM_REPORT");
    FILE* file = path == nullptr ? nullptr : fopen(path, "a");
    if (file != nullptr) {
      std::string wrong = violations();
      std::string left = leaks();
      fputs(wrong.c_str(), file);
      std::istringstream lines(left);
      for (std::string line; std::getline(lines, line);) {
        fprintf(file, "not freed at exit: %s\n", line.c_str());
      }
      fclose(file);
    }
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

// Ends all there is and starts anew, with that many devices; negative: as the environment says. cuInit
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
