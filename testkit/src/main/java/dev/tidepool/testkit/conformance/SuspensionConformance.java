package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeUse;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.Suspension;
import dev.tidepool.diagnostics.Suspension.Reason;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** A manager frees the device's memory without losing data. */
public abstract class SuspensionConformance extends Topic {
  private static final int LENGTH = 50_000;
  private static final long BYTES = 4L * LENGTH;

  @TempDir Path directory;

  private UnifiedMemoryManager spilling() {
    return bench()
        .manager(bench().accelerator(), MemoryOptions.builder().spillDirectory(directory).build());
  }

  private static UnifiedBuffer<float[]> filled(
      UnifiedMemoryManager manager, MemoryLocation location, long seed) {
    UnifiedBuffer<float[]> buffer = manager.allocate(ElementType.FLOAT, LENGTH, location);
    buffer.copyFrom(pattern(LENGTH, seed));
    return buffer;
  }

  private void addOne(UnifiedMemoryManager manager, UnifiedBuffer<float[]> buffer) {
    bench().assumeCompiler();
    try (Kernel kernel = manager.compile(KernelSource.elementwise("y = y + 1"))) {
      kernel.execute(Arguments.of("y", buffer));
    }
  }

  private static float[] patternPlus(long seed, int added) {
    float[] values = pattern(LENGTH, seed);
    for (int i = 0; i < LENGTH; i++) {
      for (int round = 0; round < added; round++) {
        values[i] += 1;
      }
    }
    return values;
  }

  @TestFactory
  Stream<DynamicTest> whatASuspendedBufferHoldsIsThereAtItsNextUse() {
    return inEveryLocation(
        location -> {
          UnifiedMemoryManager manager = spilling();
          try (UnifiedBuffer<float[]> buffer = filled(manager, location, 1)) {
            addOne(manager, buffer);
            Suspension suspension = manager.suspend();
            assertThat(suspension.leftBytes()).isEmpty();
            assertThat(suspension.movedBuffers()).isEqualTo(1);
            Patterns.assertEqual(contents(buffer), patternPlus(1, 1), "read after suspend()");
            manager.suspend();
            addOne(manager, buffer);
            manager.suspend();
            Patterns.assertEqual(contents(buffer), patternPlus(1, 2), "computed after suspend()");
          }
        });
  }

  @Test
  void theDevicesMemoryGoesBackWithIdleBlocksOfThePools() {
    UnifiedMemoryManager manager = spilling();
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      buffers.add(filled(manager, MemoryLocation.DEVICE, i));
    }
    buffers.removeLast().close();
    long onDevice = deviceBytes(manager);
    assertThat(onDevice).isGreaterThanOrEqualTo(20 * BYTES);
    Suspension suspension = manager.suspend();
    assertThat(suspension.movedBuffers()).isEqualTo(19);
    assertThat(suspension.movedBytes()).isEqualTo(19 * BYTES);
    assertThat(suspension.leftBytes()).isEmpty();
    assertThat(suspension.leftBytesInAll()).isZero();
    assertThat(suspension.returnedBytes()).isGreaterThanOrEqualTo(20 * BYTES);
    assertThat(deviceBytes(manager)).isEqualTo(onDevice - suspension.returnedBytes());
    for (int i = 0; i < buffers.size(); i++) {
      Patterns.assertEqual(contents(buffers.get(i)), pattern(LENGTH, i), "buffer " + i);
      buffers.get(i).close();
    }
  }

  /** Returns the bytes in the pool of the device's memory; the CPU's is the pool of the host. */
  private static long deviceBytes(UnifiedMemoryManager manager) {
    String id = manager.accelerator().id();
    String name = id.startsWith("cpu") ? "host memory" : id + " DEVICE";
    return manager.pools().stream()
        .filter(pool -> pool.name().equals(name))
        .mapToLong(pool -> pool.reservedBytes())
        .sum();
  }

  @Test
  void resumeBringsBackWhatWasTakenAndNotUsedSince() {
    UnifiedMemoryManager manager = spilling();
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      buffers.add(filled(manager, MemoryLocation.DEVICE, i));
    }
    manager.suspend();
    if (!bench().sharesMemory()) {
      assertThat(buffers).allMatch(buffer -> buffer.state() == BufferState.HOST_ONLY);
    }
    assertThat(manager.statistics().spilledBytes())
        .isEqualTo(bench().sharesMemory() ? 5 * BYTES : 0);
    buffers.removeLast().close();
    buffers.getLast().prefetchToDevice();
    buffers.getLast().synchronize();
    assertThat(manager.resume()).isEqualTo(3 * BYTES);
    assertThat(manager.statistics().spilledBytes()).isZero();
    assertThat(buffers).noneMatch(buffer -> isOffDevice(buffer));
    assertThat(manager.resume()).isZero();
    for (int i = 0; i < buffers.size(); i++) {
      Patterns.assertEqual(contents(buffers.get(i)), pattern(LENGTH, i), "buffer " + i);
      buffers.get(i).close();
    }
  }

  private boolean isOffDevice(UnifiedBuffer<?> buffer) {
    return !bench().sharesMemory() && buffer.state() == BufferState.HOST_ONLY;
  }

  @Test
  void resumeWithoutASuspensionMovesNothing() {
    try (UnifiedBuffer<float[]> buffer = filled(memory(), MemoryLocation.HOST, 1)) {
      BufferState before = buffer.state();
      assertThat(memory().resume()).isZero();
      assertThat(buffer.state()).isEqualTo(before);
    }
  }

  @Test
  void withoutASpillDirectoryMemoryThatTheHostSharesStays() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 3);
    Suspension suspension = memory().suspend();
    if (bench().sharesMemory()) {
      assertThat(suspension.movedBuffers()).isZero();
      assertThat(suspension.leftBytes()).isEqualTo(Map.of(Reason.NO_SPILL_DIRECTORY, BYTES));
      assertThat(suspension.leftBytesInAll()).isEqualTo(BYTES);
    } else {
      assertThat(suspension.movedBytes()).isEqualTo(BYTES);
      assertThat(suspension.leftBytes()).isEmpty();
      assertThat(buffer.state()).isEqualTo(BufferState.HOST_ONLY);
    }
    Patterns.assertEqual(contents(buffer), pattern(LENGTH, 3), "read after suspend()");
  }

  @Test
  void aMappedBufferKeepsItsMappingAndItsBytes() {
    UnifiedMemoryManager manager = spilling();
    try (UnifiedBuffer<float[]> buffer = filled(manager, MemoryLocation.DEVICE, 4)) {
      try (HostMapping mapping = buffer.map(MapMode.READ_WRITE)) {
        Suspension suspension = manager.suspend();
        assertThat(suspension.leftBytes())
            .isEqualTo(bench().sharesMemory() ? Map.of(Reason.HOST_VIEW, BYTES) : Map.of());
        assertThat(manager.resume()).as("mapped for writing").isZero();
        ElementType.FLOAT.write(pattern(LENGTH, 5), 0, mapping.segment(), 0, LENGTH);
      }
      Patterns.assertEqual(contents(buffer), pattern(LENGTH, 5), "written through the mapping");
      addOne(manager, buffer);
      Patterns.assertEqual(contents(buffer), patternPlus(5, 1), "computed after the mapping");
    }
  }

  @Test
  void bytesThatWereHandedOutAsASegmentStayWhereTheyAre() {
    UnifiedMemoryManager manager = spilling();
    try (UnifiedBuffer<float[]> buffer = filled(manager, MemoryLocation.DEVICE, 6)) {
      MemorySegment segment = buffer.asSegment();
      Suspension suspension = manager.suspend();
      assertThat(suspension.leftBytes())
          .isEqualTo(bench().sharesMemory() ? Map.of(Reason.HOST_VIEW, BYTES) : Map.of());
      Patterns.assertEqual(
          contents(ElementType.FLOAT, segment), pattern(LENGTH, 6), "seen through the segment");
    }
  }

  @Test
  void aLentBufferStaysUntilItIsGivenBack() {
    UnifiedMemoryManager manager = spilling();
    try (UnifiedBuffer<float[]> buffer = filled(manager, MemoryLocation.DEVICE, 11)) {
      buffer.prefetchToDevice();
      try (NativeAccess access = manager.lend(NativeUse.readWrite(buffer))) {
        assertThat(access.handle(buffer).byteSize()).isEqualTo(BYTES);
        assertThat(manager.suspend().leftBytes()).isEqualTo(Map.of(Reason.LENT, BYTES));
      }
      assertThat(manager.suspend().movedBytes()).isEqualTo(BYTES);
      Patterns.assertEqual(contents(buffer), pattern(LENGTH, 11), "after both");
    }
  }

  @Test
  void suspendComesBehindTheWorkThatWasAskedFor() {
    bench().assumeCompiler();
    UnifiedMemoryManager manager = spilling();
    try (Kernel kernel = manager.compile(KernelSource.elementwise("y = y + 1"));
        UnifiedBuffer<float[]> buffer = filled(manager, MemoryLocation.DEVICE, 7)) {
      for (int i = 0; i < 20; i++) {
        kernel.executeAsync(Arguments.of("y", buffer));
      }
      Suspension suspension = manager.suspend();
      assertThat(suspension.movedBytes()).isEqualTo(BYTES);
      Patterns.assertEqual(contents(buffer), patternPlus(7, 20), "after twenty kernels");
    }
  }

  @Test
  void aSuspendedBufferIsFreedByItsClose() {
    UnifiedMemoryManager manager = spilling();
    UnifiedBuffer<float[]> buffer = filled(manager, MemoryLocation.DEVICE, 8);
    manager.suspend();
    buffer.close();
    eventually("it is freed", () -> manager.statistics().activeBuffers() == 0);
    assertThat(manager.statistics().spilledBytes()).isZero();
    assertThat(manager.resume()).isZero();
    assertThat(manager.suspend().movedBuffers()).isZero();
  }

  @Test
  void emptyBuffersAndUnusedBuffersAreSuspendedToo() {
    UnifiedMemoryManager manager = spilling();
    try (UnifiedBuffer<float[]> empty = manager.allocate(ElementType.FLOAT, 0);
        UnifiedBuffer<float[]> unused = manager.allocate(ElementType.FLOAT, LENGTH)) {
      Suspension suspension = manager.suspend();
      assertThat(suspension.movedBytes()).isEqualTo(BYTES);
      assertThat(suspension.leftBytes()).isEmpty();
      empty.copyFrom(new float[0]);
      unused.copyFrom(pattern(LENGTH, 9));
      manager.suspend();
      manager.resume();
      Patterns.assertEqual(contents(unused), pattern(LENGTH, 9), "after both");
    }
  }

  @Test
  void aVirtualThreadSuspendsAndResumes() throws InterruptedException {
    UnifiedMemoryManager manager = spilling();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    try (UnifiedBuffer<float[]> buffer = filled(manager, MemoryLocation.DEVICE, 10)) {
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  Thread.currentThread().interrupt();
                  assertThat(manager.suspend().movedBytes()).isEqualTo(BYTES);
                  assertThat(manager.resume()).isEqualTo(BYTES);
                  assertThat(Thread.interrupted()).as("the interrupt stays set").isTrue();
                } catch (Throwable e) {
                  failure.set(e);
                }
              })
          .join();
      assertThat(failure.get()).isNull();
      Patterns.assertEqual(contents(buffer), pattern(LENGTH, 10), "after both");
    }
  }

  @Test
  void threadsThatUseBuffersMeanwhileLoseNothing() {
    bench().assumeCompiler();
    UnifiedMemoryManager manager = spilling();
    Kernel kernel = manager.compile(KernelSource.elementwise("y = y + 1"));
    AtomicBoolean ended = new AtomicBoolean();
    int rounds = 25;
    inThreads(
        4,
        thread -> {
          if (thread == 0) {
            while (!ended.get()) {
              manager.suspend();
              manager.resume();
            }
            return;
          }
          try {
            for (int round = 0; round < rounds; round++) {
              MemoryLocation location =
                  round % 2 == 0 ? MemoryLocation.DEVICE : MemoryLocation.HOST;
              try (UnifiedBuffer<float[]> buffer = filled(manager, location, thread)) {
                kernel.execute(Arguments.of("y", buffer));
                kernel.executeAsync(Arguments.of("y", buffer));
                Patterns.assertEqual(contents(buffer), patternPlus(thread, 2), "of " + thread);
              }
            }
          } finally {
            if (thread == 1) {
              ended.set(true);
            }
          }
        });
    eventually("all are freed", () -> manager.statistics().activeBuffers() == 0);
    assertThat(manager.statistics().spilledBytes()).isZero();
  }

  @Test
  void aZeroedBufferIsZeroOnTheDeviceWhoeverSuspendsMeanwhile() {
    bench().assumeCompiler();
    Kernel kernel = memory().compile(KernelSource.elementwise("y = y + 1"));
    Allocation zeroed = Allocation.at(MemoryLocation.DEVICE).zeroed();
    float[] ones = new float[2000];
    Arrays.fill(ones, 1);
    AtomicBoolean ended = new AtomicBoolean();
    inThreads(
        3,
        thread -> {
          while (thread == 0 && !ended.get()) {
            memory().suspend();
            memory().resume();
          }
          try {
            for (int round = 0; thread != 0 && round < 400; round++) {
              try (UnifiedBuffer<float[]> buffer =
                  memory().allocate(ElementType.FLOAT, 2000, zeroed)) {
                kernel.execute(Arguments.of("y", buffer));
                Patterns.assertEqual(contents(buffer), ones, "zero and one");
              }
            }
          } finally {
            ended.set(true);
          }
        });
  }

  @Test
  void aClosedManagerSaysSo() {
    UnifiedMemoryManager manager = bench().manager(bench().accelerator(), MemoryOptions.defaults());
    manager.close();
    assertThatThrownBy(manager::suspend)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(manager::resume)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
  }

  @TestFactory
  Stream<DynamicTest> whatIsWrittenToASegmentAfterTheReturnIsNotLost() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = patterned(1_000, location, 1);
          UnifiedBuffer<float[]> y = buffer(ElementType.FLOAT, 1_000, location);
          Kernel copy = bench().kernel("y = x");
          copy.execute(Arguments.of("x", x, "y", y));
          MemorySegment view = x.asSegment();
          memory().suspend();
          memory().resume();
          ElementType.FLOAT.write(pattern(1_000, 2), 0, view, 0, 1_000);
          copy.execute(Arguments.of("x", x, "y", y));
          Patterns.assertEqual(contents(y), pattern(1_000, 2), "what a kernel sees");
        });
  }
}
