// What a program asks first: the driver's version, its devices, and what each is like.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "configuration.h"
#include "machine.h"

using namespace sim;

EXPORT CUresult cuInit(unsigned int Flags) {
  static Function& this_function = function(__func__);
  if (deinitialized) {
    return CUDA_ERROR_DEINITIALIZED;
  }
  if (auto injected = static_cast<CUresult>(this_function.count())) {
    return injected;
  }
  if (Flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  configure_once();
  Locked locked;
  if (machine().devices.empty()) {
    return CUDA_ERROR_NO_DEVICE;
  }
  machine().initialized = true;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int* driverVersion) {
  static Function& this_function = function(__func__);
  if (auto injected = static_cast<CUresult>(this_function.count())) {
    return injected;
  }
  if (driverVersion == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  configure_once();
  Locked locked;
  *driverVersion = machine().driver_version;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int* count) {
  ENTER
  if (count == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  *count = static_cast<int>(machine().devices.size());
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER
  if (device == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  if (sim::device(ordinal) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *device = ordinal;
  return CUDA_SUCCESS;
}

// The device, in a function that asks about one.
#define ENTER_DEVICE(pointer, handle)          \
  ENTER                                        \
  if ((pointer) == nullptr) {                  \
    return CUDA_ERROR_INVALID_VALUE;           \
  }                                            \
  Locked locked;                               \
  Device* of = sim::device(handle);            \
  if (of == nullptr) {                         \
    return CUDA_ERROR_INVALID_DEVICE;          \
  }

EXPORT CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  ENTER_DEVICE(name, dev)
  if (len < 1) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  snprintf(name, static_cast<size_t>(len), "%s", of->name.c_str());
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  ENTER_DEVICE(uuid, dev)
  memcpy(uuid->bytes, "tidepool-sim-gpu", 16);
  uuid->bytes[15] = static_cast<char>(dev);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  ENTER_DEVICE(bytes, dev)
  *bytes = of->memory;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  ENTER_DEVICE(pi, dev)
  // Drivers before CUDA 12.2 do not know of the host's nodes.
  bool unknown =
      attrib == CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID && machine().driver_version < 12020;
  if (attrib < 1 || attrib > 200 || unknown) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pi = attribute(*of, attrib);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  ENTER_DEVICE(pciBusId, dev)
  if (len < 13) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  snprintf(pciBusId, static_cast<size_t>(len), "0000:%02X:00.0",
           attribute(*of, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  ENTER_DEVICE(canAccessPeer, dev)
  if (sim::device(peerDev) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *canAccessPeer = static_cast<int>(of->reachable.count(peerDev));
  return CUDA_SUCCESS;
}

namespace {

const char* code_name(CUresult error) {
  switch (static_cast<int>(error)) {
#define CODE(name, number) \
  case number:             \
    return #name;
#include "cuda_codes.inc"
#undef CODE
    default:
      return nullptr;
  }
}

// "out of memory" of CUDA_ERROR_OUT_OF_MEMORY.
std::string code_text(const char* name) {
  std::string text(name);
  text.erase(0, text.rfind("CUDA_ERROR_", 0) == 0 ? strlen("CUDA_ERROR_") : strlen("CUDA_"));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c == '_' ? ' ' : static_cast<char>(tolower(c)); });
  return text;
}

}  // namespace

EXPORT CUresult cuGetErrorName(CUresult error, const char** pStr) {
  if (pStr == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pStr = code_name(error);
  return *pStr == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EXPORT CUresult cuGetErrorString(CUresult error, const char** pStr) {
  static std::map<int, std::string>& texts = *new std::map<int, std::string>;
  if (pStr == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pStr = code_name(error);
  if (*pStr == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  *pStr = texts.try_emplace(static_cast<int>(error), code_text(*pStr)).first->second.c_str();
  return CUDA_SUCCESS;
}
