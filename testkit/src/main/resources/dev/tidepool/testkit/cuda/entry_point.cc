// Functions that programs look up by cuGetProcAddress: those of later versions than the oldest driver. All
// others are exported by name, and are not found here.

#include <cstring>

#include "batched_copy.h"
#include "machine.h"

namespace sim {
namespace {

// One version of a function: programs of that CUDA version and later get it.
struct EntryPoint {
  const char* symbol;
  int since;
  void* function;
};

const EntryPoint kEntryPoints[] = {
    {"cuMemcpyBatchAsync", 12080, reinterpret_cast<void*>(&cuMemcpyBatchAsync)},
    {"cuMemcpyBatchAsync", 13000, reinterpret_cast<void*>(&cuMemcpyBatchAsync_v2)},
};

}  // namespace
}  // namespace sim

using namespace sim;

EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult* symbolStatus) {
  ENTER
  constexpr cuuint64_t kMostFlags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || pfn == nullptr || flags > kMostFlags ||
      cudaVersion > machine().driver_version) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pfn = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const EntryPoint& entry : kEntryPoints) {
    if (strcmp(entry.symbol, symbol) != 0) {
      continue;
    }
    if (entry.since <= cudaVersion) {
      *pfn = entry.function;
      status = CU_GET_PROC_ADDRESS_SUCCESS;
    } else if (*pfn == nullptr) {
      status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    }
  }
  if (symbolStatus != nullptr) {
    *symbolStatus = status;
  }
  return CUDA_SUCCESS;
}
