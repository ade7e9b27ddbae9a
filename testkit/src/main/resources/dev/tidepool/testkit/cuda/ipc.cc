// Memory of cuMemAlloc shared between processes. A handle tells where the bytes are: the process, its
// file, the range in it. A process that has it open holds a lock on the range's first byte, which ends
// with the process too, so that an exporter that frees too early is found out.

#include "ipc.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "memory.h"

namespace sim {
namespace {

struct Handle {
  char magic[8];
  int process;
  int file;
  int ordinal;
  int unused;
  int64_t offset;
  uint64_t size;
};
static_assert(sizeof(Handle) <= CU_IPC_HANDLE_SIZE);

constexpr char kMagic[8] = {'t', 'p', '-', 's', 'i', 'm', '-', '1'};

// The lock of an open file, not of a process: that would go with the first file that is closed.
struct flock lock_of(short type, off_t offset) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool is_open_elsewhere(const Allocation& allocation) {
  struct flock lock = lock_of(F_WRLCK, allocation.offset);
  return fcntl(allocation.device->file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void close_opened(Allocation& allocation) {
  unmap(allocation.address, allocation.size);
  give_back(allocation.address);
  close(allocation.file);
}

}  // namespace sim

using namespace sim;

EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  ENTER_CONTEXT
  Locked locked;
  std::shared_ptr<Allocation> found = find_base(__func__, dptr);
  if (pHandle == nullptr || !found) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (found->kind != Kind::kDevice) {
    violation("%s of %s, which cannot be shared so", __func__, kind_name(found->kind));
    return CUDA_ERROR_INVALID_VALUE;
  }
  found->exported = true;
  Handle handle{};
  memcpy(handle.magic, kMagic, sizeof kMagic);
  handle.process = getpid();
  handle.file = found->device->file;
  handle.ordinal = found->device->ordinal;
  handle.offset = found->offset;
  handle.size = found->size;
  memset(pHandle, 0, sizeof *pHandle);
  memcpy(pHandle, &handle, sizeof handle);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  ENTER_CONTEXT
  Handle told;
  memcpy(&told, &handle, sizeof told);
  if (pdptr == nullptr || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (memcmp(told.magic, kMagic, sizeof kMagic) != 0) {
    violation("%s: this is no handle of the driver", __func__);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (told.process == getpid()) {
    return CUDA_ERROR_INVALID_CONTEXT;  // a process cannot open what it exports
  }
  Locked locked;
  Device* of = device(told.ordinal);
  if (of == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  std::string path =
      "/proc/" + std::to_string(told.process) + "/fd/" + std::to_string(told.file);
  int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return CUDA_ERROR_INVALID_HANDLE;  // the exporter is gone
  }
  struct flock lock = lock_of(F_RDLCK, told.offset);
  uintptr_t address =
      fcntl(file, F_OFD_SETLK, &lock) != 0 ? 0 : reserve(told.size, kPage, 0);
  if (address == 0 || !map(address, told.size, file, told.offset, true, false)) {
    close(file);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::shared_ptr<Allocation> made = enter_live(Kind::kOpened, address, told.size, of);
  made->file = file;
  *pdptr = address;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
  ENTER_CONTEXT
  Locked locked;
  std::shared_ptr<Allocation> found = find_base(__func__, dptr);
  if (!found || found->kind != Kind::kOpened) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (int pending = found->pending) {
    violation("%s of %#llx while %d commands still use it", __func__, dptr, pending);
    return CUDA_ERROR_INVALID_VALUE;
  }
  leave_live(*found, __func__);
  release(*found);
  return CUDA_SUCCESS;
}
