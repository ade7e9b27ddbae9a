package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.host.system.Platform;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * A program for processes that take their platform for another one: uses what the library has for
 * memory, checks every byte, and prints what it was told.
 */
final class PlatformProgram {
  private static final int LENGTH = 1 << 20;

  private PlatformProgram() {}

  public static void main(String[] arguments) throws Throwable {
    // Here and not as options of the virtual machine, which would call functions as there.
    System.setProperty("os.name", System.getProperty("tidepool.test.name"));
    System.setProperty("os.arch", System.getProperty("tidepool.test.architecture"));
    Path folder = Path.of(System.getProperty("tidepool.test.folder"));
    HostPlatform platform = HostPlatform.probe();
    print("system", Platform.CURRENT.system());
    print("page", platform.pageBytes());
    print("processor", platform.processor().orElse("none"));
    print("locking", platform.pageLocking());
    print("limit", platform.lockLimitBytes().orElse(-1));
    print("setting", platform.lockLimitSetting().orElse("none"));
    print("numa", platform.numaPolicies());
    print("huge", platform.hugePageBytes());
    print("native", platform.nativeAllocation());
    print("shared", SharedFolder.describe());
    MemoryInfo memory = HostMemory.now();
    print("total", memory.totalBytes());
    print("free", memory.freeBytes());
    print("obtainable", HostMemory.obtainableBytes());
    print("estimate", memory.freeIsEstimate());
    blocks();
    MemoryOptions options =
        MemoryOptions.builder().sharedDirectory(folder.resolve("shared")).build();
    try (Tidepool tidepool = Tidepool.open(options);
        UnifiedMemoryManager manager =
            UnifiedMemoryManager.create(tidepool.accelerator("cpu:0"), options)) {
      buffers(manager);
      shared(manager);
      print("pinned fallbacks", manager.statistics().pinnedFallbacks());
    }
    spill(folder);
    number("mac_library_locked_ranges").ifPresent(count -> print("locked ranges", count));
    number("mac_library_wrong_calls").ifPresent(count -> print("wrong calls", count));
    print("work", "done");
  }

  private static void print(String name, Object value) {
    System.out.println(name + "=" + value);
  }

  private static void blocks() {
    MemoryAllocator allocator = new MemoryAllocator();
    PinnedBudget budget = new PinnedBudget(Long.MAX_VALUE);
    for (long bytes : new long[] {1, 65_537, (5L << 20) + 3}) {
      for (HostBlock block :
          List.of(
              allocator.allocate(bytes),
              allocator.allocate(bytes, 1 << 20),
              allocator.allocate(HostRequest.of(bytes).on(PageKind.EXPLICIT_HUGE)),
              allocator.allocateLocked(HostRequest.of(bytes), budget))) {
        MemoryAllocatorTest.writePattern(block.segment(), bytes);
        MemoryAllocatorTest.assertPattern(block.segment(), bytes);
        block.free();
      }
    }
    check(budget.usedBytes() == 0, "the budget is given back");
    print("refused locks", allocator.statistics().refusedLocks());
  }

  private static void buffers(UnifiedMemoryManager manager) {
    float[] values = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      values[i] = i % 1000;
    }
    for (MemoryLocation location : MemoryLocation.values()) {
      try (UnifiedBuffer<float[]> x = manager.allocate(ElementType.FLOAT, LENGTH, location);
          UnifiedBuffer<float[]> y = manager.allocate(ElementType.FLOAT, LENGTH, location)) {
        x.copyFrom(values);
        y.fill((byte) 0);
        manager
            .compile(KernelSource.elementwise("y = 2 * x + 1"))
            .execute(Arguments.of("x", x, "y", y));
        float[] found = new float[LENGTH];
        y.copyTo(found);
        for (int i = 0; i < LENGTH; i++) {
          check(found[i] == 2 * values[i] + 1, location + " element " + i);
        }
      }
    }
    try (Arena arena = Arena.ofShared()) {
      MemorySegment mine = arena.allocate(JAVA_INT, 1000);
      try (UnifiedBuffer<int[]> wrapped = manager.wrap(ElementType.INT, mine)) {
        wrapped.copyFrom(new int[] {7});
      }
      check(mine.get(JAVA_INT, 0) == 7, "wrapped memory has what the buffer had");
    }
  }

  /** Names that differ in case alone are two buffers, whatever the file system takes them for. */
  private static void shared(UnifiedMemoryManager manager) {
    try (UnifiedBuffer<int[]> upper = manager.createShared(ElementType.INT, 1000, "Data");
        UnifiedBuffer<int[]> lower = manager.createShared(ElementType.INT, 1000, "data");
        UnifiedBuffer<int[]> again = manager.openShared(ElementType.INT, "Data")) {
      upper.copyFrom(new int[] {1});
      lower.copyFrom(new int[] {2});
      int[] found = new int[1];
      again.slice(0, 1).copyTo(found);
      check(found[0] == 1, "the buffer of the name that was asked for");
    }
  }

  private static void spill(Path folder) {
    MemoryOptions options =
        MemoryOptions.builder().memoryLimit(4 << 20).spillDirectory(folder).build();
    try (UnifiedMemoryManager manager = UnifiedMemoryManager.create("cpu:0", options)) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        UnifiedBuffer<byte[]> buffer = manager.allocate(ElementType.BYTE, LENGTH);
        buffer.fill((byte) i);
        buffers.add(buffer);
      }
      check(manager.statistics().spills() > 0, "some were spilled");
      byte[] found = new byte[LENGTH];
      byte[] expected = new byte[LENGTH];
      for (int i = 0; i < 8; i++) {
        buffers.get(i).copyTo(found);
        Arrays.fill(expected, (byte) i);
        check(Arrays.equals(found, expected), "buffer " + i + " came back");
        buffers.get(i).close();
      }
    }
  }

  private static Optional<Integer> number(String function) throws Throwable {
    Linker linker = Linker.nativeLinker();
    Optional<MemorySegment> address = linker.defaultLookup().find(function);
    return address.isEmpty()
        ? Optional.empty()
        : Optional.of(
            (int)
                linker
                    .downcallHandle(address.get(), FunctionDescriptor.of(JAVA_INT))
                    .invokeExact());
  }

  private static void check(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(what);
    }
  }
}
