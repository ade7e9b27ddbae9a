#include "machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "context.h"
#include "module.h"
#include "memory.h"
#include "pool.h"
#include "stream.h"
#include "virtual_memory.h"

namespace sim {

std::atomic<bool> deinitialized{false};

Machine& machine() {
  static Machine& instance = *new Machine;
  return instance;
}

bool& in_host_function() {
  static thread_local bool inside = false;
  return inside;
}

CUresult admit(Function& function, const char* name) {
  if (deinitialized) {
    return CUDA_ERROR_DEINITIALIZED;
  }
  auto injected = static_cast<CUresult>(function.count());
  if (!machine().initialized) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (in_host_function()) {
    violation("%s: called by a host function; those must not call the driver", name);
    return CUDA_ERROR_NOT_PERMITTED;
  }
  return injected;
}

Device* device(int ordinal) {
  bool there = ordinal >= 0 && static_cast<size_t>(ordinal) < machine().devices.size();
  return there ? machine().devices[static_cast<size_t>(ordinal)] : nullptr;
}

int attribute(const Device& device, int attribute) {
  auto found = device.attributes.find(attribute);
  return found == device.attributes.end() ? 0 : found->second;
}

namespace {

std::map<int, int> default_attributes(int ordinal) {
  return {
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7FFFFFFF},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 99 << 10},
      {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1536},
      {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
      {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
      {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, ordinal + 1},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
      {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
      {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0},
  };
}

}  // namespace

void make_devices(int count) {
  Machine& m = machine();
  for (Device* old : m.devices) {
    m.pools.erase(old->default_pool->handle);
    old->default_pool.reset();
    old->current_pool.reset();
    close(old->file);  // the device itself stays: threads may have its context current
  }
  m.devices.clear();
  for (int ordinal = 0; ordinal < count; ordinal++) {
    auto* made = new Device;
    made->ordinal = ordinal;
    made->name = "Simulated GPU " + std::to_string(ordinal);
    made->memory = size_t{1} << 30;
    made->attributes = default_attributes(ordinal);
    made->context.device = made;
    made->file = memory_file(("tidepool-gpu-" + std::to_string(ordinal)).c_str(), size_t{1} << 60);
    made->default_pool = make_pool(*made);
    for (int peer = 0; peer < count; peer++) {
      if (peer != ordinal) {
        made->reachable.insert(peer);
      }
    }
    m.devices.push_back(made);
  }
}

CUresult current(Context*& context) {
  context = current_context();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (!context->active) {
    violation("a call with the context of device %d current, which was released",
              context->device->ordinal);
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  return static_cast<CUresult>(context->device->lost.load());
}

bool has_peer(const Context& context, const Device& device) {
  return std::any_of(context.peers.begin(), context.peers.end(),
                     [&](const Context* peer) { return peer->device == &device; });
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kDevice: return "device memory";
    case Kind::kPooled: return "pooled memory";
    case Kind::kManaged: return "managed memory";
    case Kind::kPinned: return "pinned memory";
    case Kind::kRegistered: return "registered memory";
    case Kind::kMapped: return "mapped memory";
    case Kind::kOpened: return "memory of another process";
  }
  return "memory";
}

namespace {

// What is live in a context, or in all where that is null.
std::vector<std::string> live_in(const Context* context) {
  Machine& m = machine();
  std::vector<std::string> lines;
  char line[160];
  for (const auto& [address, allocation] : m.live) {
    if (context == nullptr || allocation->context == context) {
      snprintf(line, sizeof line, "%s %#lx of %zu bytes on device %d", kind_name(allocation->kind),
               address, allocation->size, allocation->device->ordinal);
      lines.emplace_back(line);
    }
  }
  auto handle = [&](const char* kind, const void* value, const Context& owner) {
    if (context == nullptr || &owner == context) {
      snprintf(line, sizeof line, "%s %p of device %d", kind, value, owner.device->ordinal);
      lines.emplace_back(line);
    }
  };
  for (const auto& [value, stream] : m.streams) {
    std::string kind = "stream of priority " + std::to_string(stream->priority);
    handle(kind.c_str(), value, *stream->context);
  }
  for (const auto& [value, event] : m.events) {
    handle("event", value, *event->context);
  }
  for (const auto& [value, module] : m.modules) {
    handle("module", value, *module->context);
  }
  for (const auto& [value, pool] : m.pools) {
    if (pool->device->default_pool != pool) {
      handle("memory pool", value, pool->device->context);
    }
  }
  for (const auto& [value, physical] : m.physicals) {
    handle("physical memory", reinterpret_cast<void*>(value), physical->device->context);
  }
  if (context == nullptr) {
    for (const auto& [address, size] : m.reservations) {
      snprintf(line, sizeof line, "%zu reserved addresses at %#lx", size, address);
      lines.emplace_back(line);
    }
    for (const Device* device : m.devices) {
      if (device->context.retained > 0) {
        snprintf(line, sizeof line, "primary context of device %d, retained %d times",
                 device->ordinal, device->context.retained);
        lines.emplace_back(line);
      }
    }
    for (const Context* made : m.contexts) {
      snprintf(line, sizeof line, "context %p of device %d", static_cast<const void*>(made),
               made->device->ordinal);
      lines.emplace_back(line);
    }
  }
  return lines;
}

template <class Map, class Belongs>
auto take(Map& map, Belongs belongs) {
  std::vector<typename Map::mapped_type> taken;
  for (auto entry = map.begin(); entry != map.end();) {
    if (belongs(*entry->second)) {
      taken.push_back(entry->second);
      entry = map.erase(entry);
    } else {
      ++entry;
    }
  }
  return taken;
}

}  // namespace

std::string leaks() {
  Locked locked;
  std::string text;
  for (const std::string& line : live_in(nullptr)) {
    text += line + "\n";
  }
  return text;
}

void end_context(Context& ending) {
  Machine& m = machine();
  Context* context = &ending;
  Device& device = *ending.device;
  auto of_context = [&](const auto& object) { return object.context == context; };
  std::vector<std::shared_ptr<Stream>> streams;
  {
    Locked locked;
    for (const std::string& line : live_in(context)) {
      violation("still there when the context of device %d ended: %s", device.ordinal, line.c_str());
    }
    context->active = false;
    streams = take(m.streams, of_context);
  }
  for (const auto& stream : streams) {
    stream->close();
  }
  wait_for(context);
  Locked locked;
  take(m.events, of_context);
  take(m.modules, of_context);
  take(m.kernels, [&](const Kernel& kernel) { return kernel.module->context == context; });
  for (const auto& allocation :
       take(m.live, [&](const Allocation& live) { return live.context == context; })) {
    release(*allocation);
  }
  context->peers.clear();
  if (context != &device.context) {
    return;  // pools and physical memory are the device's
  }
  take(m.physicals, [&](const Physical& physical) { return physical.device == &device; });
  for (const auto& pool : take(m.pools, [&](const Pool& pool) {
         return pool.device == &device && device.default_pool.get() != &pool;
       })) {
    drop(*pool);
  }
  device.current_pool.reset();
  drop(*device.default_pool);
}

}  // namespace sim
