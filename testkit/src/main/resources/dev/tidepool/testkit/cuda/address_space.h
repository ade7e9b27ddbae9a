// Where device memory is. The program holds device addresses: they are reserved but not accessible,
// so a host that touches one crashes, as with a real driver. The bytes are mapped a fixed distance
// further on, where copies and kernels reach them; pointers among a kernel's arguments are moved there
// (pointers stored inside device memory are not, so a kernel cannot chase them). Every piece of memory is
// a range of some memfd, hence it can be mapped twice and shared with other processes. Addresses are handed out
// next-fit: a freed one does not come back until the space was gone through once.
//
// Used under the machine's lock, but bytes() and contains(), which read constants only.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace sim {

constexpr size_t kPage = 4096;

inline size_t up_to(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

bool contains(uintptr_t address);

// The bytes behind an address; host memory is where it says it is.
char* bytes(uintptr_t address);

// A range of addresses without memory, with an inaccessible page behind it; 0 when there is no room.
// `wanted`, unless 0, is taken where free.
uintptr_t reserve(size_t size, size_t alignment, uintptr_t wanted);
void give_back(uintptr_t address);

// Puts the file's bytes behind the addresses; the device reaches them at once unless told otherwise.
bool map(uintptr_t address, size_t size, int file, off_t offset, bool device_access, bool host_access);
void unmap(uintptr_t address, size_t size);
void let_device(uintptr_t address, size_t size, bool read, bool write);
void let_host(uintptr_t address, size_t size, bool allowed);

// A file for bytes, with that name in /proc/PID/fd; -1 when there is none.
int memory_file(const char* name, size_t size);

}  // namespace sim
