#include "address_space.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>

namespace sim {
namespace {

struct Space {
  uintptr_t base = 0;
  size_t span = 0;
  uintptr_t cursor = 0;
  std::map<uintptr_t, size_t> taken;

  Space() {
    // Address space, not memory; a sanitizer or a limit may leave less of it.
    for (size_t wanted = size_t{8} << 40; wanted >= size_t{1} << 30 && span == 0; wanted /= 2) {
      void* found = mmap(nullptr, 2 * wanted, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (found != MAP_FAILED) {
        base = up_to(reinterpret_cast<uintptr_t>(found), size_t{2} << 20);
        span = wanted - (size_t{4} << 20);
        cursor = base;
      }
    }
  }

  // The end of what is taken at or over the range, or 0 when the range is free.
  uintptr_t obstacle(uintptr_t address, size_t size) const {
    auto next = taken.upper_bound(address);
    if (next != taken.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second > address) {
        return before->first + before->second;
      }
    }
    return next != taken.end() && next->first < address + size ? next->first + next->second : 0;
  }

  uintptr_t find(uintptr_t from, uintptr_t to, size_t size, size_t alignment) const {
    uintptr_t address = up_to(from, alignment);
    while (address + size <= to) {
      uintptr_t end = obstacle(address, size);
      if (end == 0) {
        return address;
      }
      address = up_to(end, alignment);
    }
    return 0;
  }
};

Space& space() {
  static Space& instance = *new Space;
  return instance;
}

void* at(uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

bool contains(uintptr_t address) {
  return address >= space().base && address < space().base + space().span;
}

char* bytes(uintptr_t address) {
  return static_cast<char*>(at(contains(address) ? address + space().span : address));
}

uintptr_t reserve(size_t size, size_t alignment, uintptr_t wanted) {
  Space& s = space();
  size_t guarded = up_to(size, kPage) + kPage;
  if (guarded < size || guarded > s.span) {
    return 0;
  }
  uintptr_t end = s.base + s.span;
  uintptr_t address = 0;
  if (wanted != 0 && wanted >= s.base && wanted + guarded <= end && wanted % alignment == 0 &&
      s.obstacle(wanted, guarded) == 0) {
    address = wanted;
  } else {
    address = s.find(s.cursor, end, guarded, alignment);
    if (address == 0) {
      address = s.find(s.base, end, guarded, alignment);
    }
    if (address == 0) {
      return 0;
    }
    s.cursor = address + guarded;
  }
  s.taken[address] = guarded;
  return address;
}

void give_back(uintptr_t address) { space().taken.erase(address); }

bool map(uintptr_t address, size_t size, int file, off_t offset, bool device_access,
         bool host_access) {
  size = up_to(size, kPage);
  int both = PROT_READ | PROT_WRITE;
  void* device = mmap(bytes(address), size, device_access ? both : PROT_NONE, MAP_SHARED | MAP_FIXED,
                      file, offset);
  if (device == MAP_FAILED) {
    return false;
  }
  if (host_access &&
      mmap(at(address), size, both, MAP_SHARED | MAP_FIXED, file, offset) == MAP_FAILED) {
    unmap(address, size);
    return false;
  }
  return true;
}

void unmap(uintptr_t address, size_t size) {
  int nothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  mmap(bytes(address), up_to(size, kPage), PROT_NONE, nothing, -1, 0);
  mmap(at(address), up_to(size, kPage), PROT_NONE, nothing, -1, 0);
}

void let_device(uintptr_t address, size_t size, bool read, bool write) {
  mprotect(bytes(address), up_to(size, kPage), (read ? PROT_READ : 0) | (write ? PROT_WRITE : 0));
}

void let_host(uintptr_t address, size_t size, bool allowed) {
  mprotect(at(address), up_to(size, kPage), allowed ? PROT_READ | PROT_WRITE : PROT_NONE);
}

int memory_file(const char* name, size_t size) {
  int file = memfd_create(name, MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(size)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

}  // namespace sim
