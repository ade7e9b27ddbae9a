package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What Linux itself says of this process's memory, read without the library's own code: the far
 * side of every claim about pages.
 */
final class ProcessMemory {
  private static final Path MAPS = Path.of("/proc/self/smaps");
  private static final MethodHandle GET_MEMPOLICY =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("syscall"),
              FunctionDescriptor.of(
                  JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG),
              Linker.Option.firstVariadicArg(1));

  private ProcessMemory() {}

  static boolean isTold() {
    return Files.exists(MAPS);
  }

  /** A figure of the mapping that begins exactly where the segment does, in bytes. */
  static long figure(MemorySegment segment, String name) throws IOException {
    List<String> lines = Files.readAllLines(MAPS);
    String start = Long.toHexString(segment.address()) + "-";
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).startsWith(start)) {
        for (int j = i + 1; j < lines.size(); j++) {
          if (lines.get(j).startsWith(name + ":")) {
            return 1024 * Long.parseLong(lines.get(j).replaceAll("\\D", ""));
          }
        }
      }
    }
    throw new AssertionError("no mapping begins at " + start);
  }

  /** Bytes on explicit huge pages; kernels count a page of 1 GiB now as private, now as shared. */
  static long explicitHuge(MemorySegment segment) throws IOException {
    return figure(segment, "Private_Hugetlb") + figure(segment, "Shared_Hugetlb");
  }

  /** The line of {@code numa_maps} of the mapping that begins where the segment does. */
  static String numaLine(MemorySegment segment) throws IOException {
    String start = Long.toHexString(segment.address()) + " ";
    return Files.readAllLines(Path.of("/proc/self/numa_maps")).stream()
        .filter(line -> line.startsWith(start))
        .findFirst()
        .orElseThrow();
  }

  /** The policy of an address as the kernel has it: MPOL_DEFAULT 0, PREFERRED 1, BIND 2, ... */
  record Policy(int mode, long nodes) {}

  /** Asks {@code get_mempolicy} with MPOL_F_ADDR. */
  static Policy policyAt(long address) {
    long number = System.getProperty("os.arch").equals("aarch64") ? 236 : 239;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mode = arena.allocate(JAVA_INT);
      MemorySegment nodes = arena.allocate(JAVA_LONG, 16);
      long result = (long) GET_MEMPOLICY.invokeExact(number, mode, nodes, 1025L, address, 2L);
      if (result != 0) {
        throw new AssertionError("get_mempolicy refused");
      }
      return new Policy(mode.get(JAVA_INT, 0), nodes.get(JAVA_LONG, 0));
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Bytes of mapped addresses that this process could touch. */
  static long addressSpaceInUse() throws IOException {
    return status("VmData");
  }

  /** Bytes that the system counts against the process's limit of locked memory. */
  static long locked() throws IOException {
    return status("VmLck");
  }

  private static long status(String name) throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith(name + ":"))
        .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
        .findFirst()
        .orElseThrow();
  }
}
