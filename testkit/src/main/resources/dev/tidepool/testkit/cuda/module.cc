#include "module.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "container.h"
#include "grid.h"
#include "memory.h"
#include "pool.h"
#include "stream.h"

namespace sim {

Module::~Module() { dlclose(library); }

namespace {

// The caller's buffers for what the loader has to say.
class JitLog {
 public:
  JitLog(unsigned count, CUjit_option* options, void** values) {
    for (unsigned i = 0; i < count; i++) {
      switch (static_cast<int>(options[i])) {
        case CU_JIT_ERROR_LOG_BUFFER: buffer_ = static_cast<char*>(values[i]); break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
          size_ = reinterpret_cast<uintptr_t>(values[i]) & 0xFFFFFFFF;
          length_ = &values[i];
          break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: values[i] = nullptr; break;
        default: break;
      }
    }
    write("");
  }

  void write(const std::string& text) {
    if (buffer_ != nullptr && size_ > 0) {
      size_t length = text.copy(buffer_, size_ - 1);
      buffer_[length] = 0;
    }
    if (length_ != nullptr) {
      *length_ = reinterpret_cast<void*>(std::min(text.size(), size_));
    }
  }

 private:
  char* buffer_ = nullptr;
  size_t size_ = 0;
  void** length_ = nullptr;
};

bool is_elf(const char* image) { return memcmp(image, ELFMAG, SELFMAG) == 0; }

// An ELF file ends with its section headers, so it tells its own length.
std::vector<char> elf_bytes(const char* image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  return {image, image + header.e_shoff + size_t{header.e_shnum} * header.e_shentsize};
}

// The loader takes a path that it has seen for the library that it has, so each gets a path of its own.
void* load(const std::vector<char>& library) {
  const char* folder = getenv("TMPDIR");
  std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/tidepool-kernels-" +
                     std::to_string(machine().next_id++) + "-XXXXXX";
  int file = mkstemp(path.data());
  if (file < 0) {
    return nullptr;
  }
  size_t written = 0;
  ssize_t count = 1;
  while (written < library.size() && count > 0) {
    count = ::write(file, library.data() + written, library.size() - written);
    written += count > 0 ? static_cast<size_t>(count) : 0;
  }
  close(file);
  void* loaded =
      written == library.size() ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path.c_str());
  return loaded;
}

// The code of an image, for a device of that architecture.
CUresult code_of(const char* image, int architecture, std::vector<char>& library, JitLog& log) {
  if (is_elf(image)) {
    library = elf_bytes(image);
    return CUDA_SUCCESS;
  }
  std::string text(image);
  int target;
  if (from_ptx(text, target, library)) {
    if (target > architecture) {
      log.write("ptxas fatal   : SM version specified by .target is higher than default SM version");
      return CUDA_ERROR_INVALID_PTX;
    }
    return CUDA_SUCCESS;
  }
  if (text.find(".version") != std::string::npos) {
    log.write("ptxas fatal   : the simulated driver runs what the simulated compiler made, no PTX");
    return CUDA_ERROR_INVALID_PTX;
  }
  return CUDA_ERROR_INVALID_IMAGE;
}

// A launch: its arguments, copied, with the addresses where the bytes are.
struct Launch {
  std::shared_ptr<Kernel> kernel;
  Grid grid;
  std::vector<std::vector<char>> values;
  bool illegal = false;  // it would touch what it must not

  void run() {
    std::vector<void*> arguments;
    for (auto& value : values) {
      arguments.push_back(value.data());
    }
    sim::run(*kernel->code, arguments.data(), grid);
  }
};

// Whether kernels reach memory at the address that the driver gave. Memory of a context is out of reach
// in others, and the host's has another address for devices where it is write-combined or, on some
// systems, registered.
bool may_touch(const Context& context, const Allocation& allocation) {
  const Device& device = *context.device;
  switch (allocation.kind) {
    case Kind::kMapped: return allocation.access.count(device.ordinal) == 1;
    case Kind::kDevice:
    case Kind::kOpened:
      return allocation.context == &context ||
             context.peers.count(allocation.context) == 1;
    case Kind::kPooled:
      return allocation.device == &device || allocation.pool->access.count(device.ordinal) == 1;
    case Kind::kPinned:
      return (allocation.flags & CU_MEMHOSTALLOC_WRITECOMBINED) == 0;
    case Kind::kRegistered:
      return attribute(device, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) != 0;
    case Kind::kManaged: return true;
  }
  return false;
}

// Notes what the words of an argument point to, and moves them there. A pointer has to point somewhere;
// a word of a structure may happen to. One past the end is nowhere, and legal.
void resolve(Launch& launch, unsigned index, const Context& context, std::vector<Use>& uses) {
  const Device& device = *context.device;
  std::vector<char>& value = launch.values[index];
  const tidepool_kernel& code = *launch.kernel->code;
  if (code.contents[index] == kTidepoolNumber) {
    return;
  }
  for (size_t at = 0; at + sizeof(uintptr_t) <= value.size(); at += sizeof(uintptr_t)) {
    uintptr_t word;
    memcpy(&word, value.data() + at, sizeof word);
    std::shared_ptr<Allocation> target = find(word);
    if (!target && word != 0 && code.contents[index] == kTidepoolPointer && !find(word - 1)) {
      violation("cuLaunchKernel of %s: argument %u is %#lx, which is no live memory of the driver's",
                code.name, index, word);
      launch.illegal = true;
    } else if (target && !may_touch(context, *target)) {
      violation("cuLaunchKernel of %s: argument %u is %s of device %d, which kernels of device %d in"
                " this context may not touch at that address",
                code.name, index, kind_name(target->kind), target->device->ordinal, device.ordinal);
      launch.illegal = true;
    } else if (target) {
      uses.emplace_back(target);
    }
    if (target || contains(word)) {
      char* moved = bytes(word);
      memcpy(value.data() + at, &moved, sizeof moved);
    }
  }
}

// Takes the arguments from `extra`, where they lie packed as in a C structure.
CUresult unpack(void** extra, const tidepool_kernel& code, std::vector<void*>& places) {
  char* buffer = nullptr;
  size_t size = 0;
  for (size_t i = 0; extra[i] != nullptr; i += 2) {
    auto what = reinterpret_cast<uintptr_t>(extra[i]);
    if (what == CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT) {
      buffer = static_cast<char*>(extra[i + 1]);
    } else if (what == CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT) {
      size = *static_cast<size_t*>(extra[i + 1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  size_t at = 0;
  for (unsigned i = 0; i < code.parameters; i++) {
    at = up_to(at, std::min<size_t>(code.sizes[i], 16));
    if (buffer == nullptr || at + code.sizes[i] > size) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    places.push_back(buffer + at);
    at += code.sizes[i];
  }
  return CUDA_SUCCESS;
}

CUresult check_grid(const Device& device, const Kernel& kernel, const Grid& grid) {
  auto within = [&](unsigned value, CUdevice_attribute most) {
    return value > 0 && value <= static_cast<unsigned>(attribute(device, most));
  };
  uint64_t threads = uint64_t{grid.threads.x} * grid.threads.y * grid.threads.z;
  return within(grid.blocks.x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) &&
                 within(grid.blocks.y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) &&
                 within(grid.blocks.z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) &&
                 within(grid.threads.x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
                 within(grid.threads.y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) &&
                 within(grid.threads.z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z) &&
                 threads <= static_cast<uint64_t>(
                                attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)) &&
                 grid.shared_bytes <= static_cast<unsigned>(std::max<int>(
                                          kernel.shared_most,
                                          attribute(device,
                                                    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)))
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

// While kernels run on a device without concurrent access, the host has none.
void kernel_began(Module& module) {
  Device& device = *module.context->device;
  Locked locked;
  module.launches++;
  if (device.running_kernels++ == 0 &&
      attribute(device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
    let_host_at_managed(device, false);
  }
}

void kernel_ended(Module& module) {
  Device& device = *module.context->device;
  Locked locked;
  module.launches--;
  if (--device.running_kernels == 0 &&
      attribute(device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0) {
    let_host_at_managed(device, true);
  }
}

std::shared_ptr<Kernel> kernel_of(CUfunction handle, const char* call) {
  Locked locked;
  auto found = machine().kernels.find(handle);
  if (found == machine().kernels.end()) {
    violation("%s: %p is no function, or one of an unloaded module", call, static_cast<void*>(handle));
    return nullptr;
  }
  return found->second;
}

}  // namespace
}  // namespace sim

using namespace sim;

EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
                                   CUjit_option* options, void** optionValues) {
  ENTER_CONTEXT
  if (module == nullptr || image == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  JitLog log(numOptions, options, optionValues);
  int architecture;
  {
    Locked locked;
    architecture = 10 * attribute(*context->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                   attribute(*context->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  }
  std::vector<char> library;
  if (CUresult error = code_of(static_cast<const char*>(image), architecture, library, log)) {
    return error;
  }
  void* loaded = load(library);
  if (loaded == nullptr) {
    log.write("the code of the image is not loadable");
    return CUDA_ERROR_INVALID_IMAGE;
  }
  auto* code = static_cast<const tidepool_module*>(dlsym(loaded, TIDEPOOL_MODULE_SYMBOL));
  if (code == nullptr) {
    dlclose(loaded);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  auto made = std::make_shared<Module>(context, loaded, code);
  bool other_chip = code->architecture / 10 != architecture / 10 || code->architecture > architecture;
  if (is_elf(static_cast<const char*>(image)) && other_chip) {
    log.write("no kernel image is available for execution on the device");
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  Locked locked;
  *module = new_handle<CUmodule>();
  machine().modules[*module] = std::move(made);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUmodule hmod) {
  ENTER_CONTEXT
  Locked locked;
  Machine& m = machine();
  auto found = m.modules.find(hmod);
  if (found == m.modules.end()) {
    violation("%s: %p is no module, or an unloaded one", __func__, static_cast<void*>(hmod));
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (found->second->context != context) {
    violation("%s: the module is of device %d, the current context of device %d", __func__,
              found->second->context->device->ordinal, context->device->ordinal);
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (int launches = found->second->launches) {
    violation("%s: %d launches of its kernels have not ended", __func__, launches);
  }
  for (auto kernel = m.kernels.begin(); kernel != m.kernels.end();) {
    kernel = kernel->second->module == found->second ? m.kernels.erase(kernel) : std::next(kernel);
  }
  m.modules.erase(found);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  ENTER_CONTEXT
  if (hfunc == nullptr || name == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  Machine& m = machine();
  auto found = m.modules.find(hmod);
  if (found == m.modules.end()) {
    violation("%s: %p is no module, or an unloaded one", __func__, static_cast<void*>(hmod));
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const tidepool_module& code = *found->second->code;
  for (unsigned i = 0; i < code.kernels; i++) {
    if (strcmp(code.table[i]->name, name) == 0) {
      *hfunc = new_handle<CUfunction>();
      auto kernel = std::make_shared<Kernel>();
      kernel->module = found->second;
      kernel->code = code.table[i];
      m.kernels[*hfunc] = std::move(kernel);
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  ENTER_CONTEXT
  std::shared_ptr<Kernel> kernel = kernel_of(hfunc, __func__);
  if (!kernel) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (pi == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Locked locked;
  switch (static_cast<int>(attrib)) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *pi = attribute(*context->device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *pi = 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *pi = 32;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *pi = kernel->module->code->architecture;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

EXPORT CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset,
                                   size_t* paramSize) {
  ENTER_CONTEXT
  std::shared_ptr<Kernel> kernel = kernel_of(func, __func__);
  if (!kernel) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const tidepool_kernel& code = *kernel->code;
  if (paramOffset == nullptr || paramIndex >= code.parameters) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t at = 0;
  for (size_t i = 0;; at += code.sizes[i++]) {
    at = up_to(at, std::min<size_t>(code.sizes[i], 16));
    if (i == paramIndex) {
      break;
    }
  }
  *paramOffset = at;
  if (paramSize != nullptr) {
    *paramSize = code.sizes[paramIndex];
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  ENTER_CONTEXT
  std::shared_ptr<Kernel> kernel = kernel_of(hfunc, __func__);
  if (!kernel) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Locked locked;
  if (attrib != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
      value > attribute(*context->device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  kernel->shared_most = value;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                               unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                               unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                               void** kernelParams, void** extra) {
  ENTER_CONTEXT
  auto launch = std::make_shared<Launch>();
  launch->kernel = kernel_of(f, __func__);
  std::shared_ptr<Stream> stream;
  if (!launch->kernel) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (CUresult error = stream_of(hStream, __func__, stream)) {
    return error;
  }
  Context* of = launch->kernel->module->context;
  if (stream->context != of || context != of) {
    violation("%s: a function of device %d on a stream of device %d in the context of device %d",
              __func__, of->device->ordinal, stream->context->device->ordinal,
              context->device->ordinal);
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const tidepool_kernel& code = *launch->kernel->code;
  std::vector<void*> places;
  if (kernelParams != nullptr && extra != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (extra != nullptr) {
    if (CUresult error = unpack(extra, code, places)) {
      return error;
    }
  } else if (kernelParams != nullptr) {
    places.assign(kernelParams, kernelParams + code.parameters);
  } else if (code.parameters > 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Device& device = *of->device;
  launch->grid = {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};
  std::vector<Use> uses;
  {
    Locked locked;
    if (CUresult error = check_grid(device, *launch->kernel, launch->grid)) {
      return error;
    }
    for (unsigned i = 0; i < code.parameters; i++) {
      auto* value = static_cast<char*>(places[i]);
      launch->values.emplace_back(value, value + code.sizes[i]);
      resolve(*launch, i, *of, uses);
    }
  }
  Module& module = *launch->kernel->module;
  kernel_began(module);
  CUresult result = stream->submit({[launch, &device] {
                                      Clock::time_point start = Clock::now();
                                      if (launch->illegal) {
                                        device.lost = CUDA_ERROR_ILLEGAL_ADDRESS;
                                      } else {
                                        launch->run();
                                      }
                                      take_time(device, kOnDevice, 0, start);
                                    },
                                    std::move(uses),
                                    [launch](CUresult) { kernel_ended(*launch->kernel->module); }});
  if (result != CUDA_SUCCESS) {
    kernel_ended(module);
  }
  return result;
}
