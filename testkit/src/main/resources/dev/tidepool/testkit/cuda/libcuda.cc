// A driver without a GPU, for tests: the ABI of the CUDA driver over host memory. One translation unit, so
// that it compiles in seconds.

#include "address_space.cc"
#include "context.cc"
#include "control.cc"
#include "copy.cc"
#include "device.cc"
#include "event.cc"
#include "grid.cc"
#include "ipc.cc"
#include "ledger.cc"
#include "machine.cc"
#include "managed.cc"
#include "memory.cc"
#include "module.cc"
#include "pool.cc"
#include "stream.cc"
#include "virtual_memory.cc"
