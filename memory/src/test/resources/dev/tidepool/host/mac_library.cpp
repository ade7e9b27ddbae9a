// A stand-in for the C library of macOS on Apple silicon, preloaded into a process on Linux: what the process looks up by
// name behaves as there, with pages of 16 KiB, and without Linux's own functions. Calls with other numbers than macOS
// has fail, and are counted. The process itself, such as its virtual machine, still calls Linux's library.
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <atomic>
#include <map>
#include <mutex>

namespace {
constexpr uintptr_t PAGE = 16384;
constexpr int MAC_MAP_PRIVATE = 2, MAC_MAP_NORESERVE = 0x40, MAC_MAP_ANON = 0x1000;
constexpr int MAC_RLIMIT_MEMLOCK = 6, MAC_HOST_VM_INFO64 = 4, MAC_ENOMEM = 12, MAC_EINVAL = 22;
constexpr int MAC_ENOENT = 2;
constexpr size_t MAY_LOCK = 4 << 20;

std::atomic<int> wrong{0};

// What is locked, by its address; a mapping that ends is locked no more.
std::mutex guard;
std::map<uintptr_t, size_t> locked;

size_t lockedBytes() {
  size_t sum = 0;
  for (auto &range : locked) sum += range.second;
  return sum;
}

void unlockWithin(const void *address, size_t bytes) {
  auto from = reinterpret_cast<uintptr_t>(address);
  std::lock_guard<std::mutex> hold(guard);
  locked.erase(locked.lower_bound(from), locked.lower_bound(from + bytes));
}

int refuse(const char *what) {
  wrong++;
  fprintf(stderr, "mac_library: %s\n", what);
  errno = MAC_EINVAL;
  return -1;
}

size_t whole(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

bool aligned(const void *address) { return reinterpret_cast<uintptr_t>(address) % PAGE == 0; }

void *mac_mmap(void *, size_t bytes, int protection, int flags, int file, off_t offset) {
  constexpr int needed = MAC_MAP_PRIVATE | MAC_MAP_ANON;
  if ((flags & ~MAC_MAP_NORESERVE) != needed || file != -1 || offset != 0 || (protection & ~3)) {
    refuse("mmap with flags that are not macOS's");
    return MAP_FAILED;
  }
  size_t length = whole(bytes);
  int reserve = flags & MAC_MAP_NORESERVE ? MAP_NORESERVE : 0;
  auto base = static_cast<char *>(
      mmap(nullptr, length + PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | reserve, -1, 0));
  if (base == MAP_FAILED) {
    errno = MAC_ENOMEM;
    return MAP_FAILED;
  }
  size_t before = (PAGE - reinterpret_cast<uintptr_t>(base) % PAGE) % PAGE;
  if (before > 0) munmap(base, before);
  munmap(base + before + length, PAGE - before);
  return base + before;
}

int mac_munmap(void *address, size_t bytes) {
  if (!aligned(address)) return refuse("munmap of what is no page");
  unlockWithin(address, bytes);
  return munmap(address, whole(bytes));
}

int mac_mprotect(void *address, size_t bytes, int protection) {
  if (!aligned(address)) return refuse("mprotect of what is no page");
  return mprotect(address, whole(bytes), protection);
}

int mac_madvise(void *, size_t, int advice) {
  return advice >= 0 && advice <= 11 ? 0 : refuse("madvise with advice that macOS does not know");
}

int mac_mlock(const void *address, size_t bytes) {
  if (!aligned(address)) return refuse("mlock of a part of a page");
  std::lock_guard<std::mutex> hold(guard);
  if (lockedBytes() + whole(bytes) > MAY_LOCK) {
    errno = MAC_ENOMEM;
    return -1;
  }
  locked[reinterpret_cast<uintptr_t>(address)] = whole(bytes);
  return 0;
}

int mac_munlock(const void *address, size_t bytes) {
  unlockWithin(address, bytes);
  return 0;
}

int mac_getpagesize() { return PAGE; }

int mac_getrlimit(int resource, uint64_t *limits) {
  if (resource != MAC_RLIMIT_MEMLOCK) return refuse("getrlimit of another resource");
  limits[0] = limits[1] = INT64_MAX;
  return 0;
}

int mac_sysctlbyname(const char *name, void *value, size_t *bytes, void *, size_t) {
  uint64_t number = 0;
  const void *source = &number;
  size_t length = sizeof number;
  if (!strcmp(name, "hw.memsize")) {
    number = 16ull << 30;
  } else if (!strcmp(name, "vm.user_wire_limit")) {
    number = MAY_LOCK;
  } else if (!strcmp(name, "machdep.cpu.brand_string")) {
    source = "Stand-in M0";
    length = strlen("Stand-in M0") + 1;
  } else {
    errno = MAC_ENOENT;
    return -1;
  }
  if (*bytes < length) {
    errno = MAC_ENOMEM;
    return -1;
  }
  memcpy(value, source, length);
  *bytes = length;
  return 0;
}

unsigned mac_mach_host_self() { return 0x1203; }

int mac_host_statistics64(unsigned host, int flavor, int *info, unsigned *count) {
  constexpr int KERN_INVALID_ARGUMENT = 4;
  if (host != 0x1203 || flavor != MAC_HOST_VM_INFO64 || *count < 38) {
    refuse("host_statistics64 with arguments that macOS does not know");
    return KERN_INVALID_ARGUMENT;
  }
  memset(info, 0xff, 38 * sizeof(int));
  auto words = reinterpret_cast<uint32_t *>(info);
  words[0] = 20000;   // free_count, those below included
  words[22] = 1000;   // purgeable_count
  words[23] = 5000;   // speculative_count
  words[34] = 300000; // external_page_count
  *count = 38;
  return 0;
}

struct Function {
  const char *name;
  void *address;
};

const Function FUNCTIONS[] = {
    {"mmap", reinterpret_cast<void *>(mac_mmap)},
    {"munmap", reinterpret_cast<void *>(mac_munmap)},
    {"mprotect", reinterpret_cast<void *>(mac_mprotect)},
    {"madvise", reinterpret_cast<void *>(mac_madvise)},
    {"mlock", reinterpret_cast<void *>(mac_mlock)},
    {"munlock", reinterpret_cast<void *>(mac_munlock)},
    {"getpagesize", reinterpret_cast<void *>(mac_getpagesize)},
    {"getrlimit", reinterpret_cast<void *>(mac_getrlimit)},
    {"sysctlbyname", reinterpret_cast<void *>(mac_sysctlbyname)},
    {"mach_host_self", reinterpret_cast<void *>(mac_mach_host_self)},
    {"host_statistics64", reinterpret_cast<void *>(mac_host_statistics64)},
    // Linux's own.
    {"mlock2", nullptr},
    {"fallocate", nullptr},
    {"syscall", nullptr},
};
} // namespace

extern "C" int mac_library_wrong_calls() { return wrong; }
extern "C" int mac_library_locked_ranges() {
  std::lock_guard<std::mutex> hold(guard);
  return static_cast<int>(locked.size());
}

extern "C" void *dlsym(void *library, const char *name) noexcept {
#ifdef __aarch64__
  constexpr auto version = "GLIBC_2.17";
#else
  constexpr auto version = "GLIBC_2.2.5";
#endif
  static auto original =
      reinterpret_cast<void *(*)(void *, const char *)>(dlvsym(RTLD_NEXT, "dlsym", version));
  if (library != RTLD_DEFAULT && library != RTLD_NEXT) {
    for (const Function &function : FUNCTIONS) {
      if (!strcmp(name, function.name)) return function.address;
    }
    if (!strncmp(name, "mac_library_", 12)) return original(RTLD_DEFAULT, name);
  }
  return original(library, name);
}
