package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Allocation;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.diagnostics.BufferInfo;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Buffers of every location and length can be allocated, or the error gives the reason. */
public abstract class AllocationConformance extends Topic {
  private static final int[] LENGTHS = {0, 1, 7, 4096, 65_537, (1 << 20) + 3};

  @TestFactory
  Stream<DynamicTest> aBufferOfAnyLengthHoldsWhatIsWritten() {
    return inEveryLocation(
        location -> {
          for (int length : LENGTHS) {
            try (UnifiedBuffer<int[]> buffer =
                memory().allocate(ElementType.INT, length, location)) {
              assertThat(buffer.length()).isEqualTo(length);
              assertThat(buffer.byteSize()).isEqualTo(4L * length);
              assertThat(buffer.elementType()).isEqualTo(ElementType.INT);
              assertThat(buffer.location()).isEqualTo(location);
              assertThat(buffer.accelerator().id()).isEqualTo(bench().accelerator().id());
              int[] pattern = Patterns.array(ElementType.INT, length, length);
              buffer.copyFrom(pattern);
              Patterns.assertEqual(contents(buffer), pattern, length + " ints in " + location);
            }
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> aNewBufferIsInTheStateOfItsLocation() {
    return inEveryLocation(
        location ->
            assertThat(buffer(ElementType.FLOAT, 100, location).state())
                .isEqualTo(
                    switch (location) {
                      case DEVICE -> BufferState.DEVICE_ONLY;
                      case HOST, PINNED -> BufferState.HOST_ONLY;
                      case UNIFIED -> BufferState.SYNCHRONIZED;
                    }));
  }

  @Test
  void withoutALocationABufferIsOnTheDevice() {
    UnifiedBuffer<float[]> buffer = bench().owned(memory().allocate(ElementType.FLOAT, 10));
    assertThat(buffer.location()).isEqualTo(MemoryLocation.DEVICE);
  }

  @Test
  void aCopyOfAnArrayIsADeviceBufferWithItsContents() {
    double[] array = Patterns.array(ElementType.DOUBLE, 1234, 1);
    UnifiedBuffer<double[]> buffer = bench().owned(memory().copyOf(array));
    assertThat(buffer.location()).isEqualTo(MemoryLocation.DEVICE);
    Patterns.assertEqual(contents(buffer), array, "copyOf");
  }

  @TestFactory
  Stream<DynamicTest> zeroedMemoryIsZeroEvenIfItWasUsedBefore() {
    return inEveryLocation(
        location -> {
          for (int length : new int[] {1, 100, 70_001}) {
            try (UnifiedBuffer<byte[]> used =
                memory().allocate(ElementType.BYTE, length, location)) {
              used.fill((byte) 0x77);
            }
            try (UnifiedBuffer<byte[]> zeroed =
                memory().allocate(ElementType.BYTE, length, Allocation.at(location).zeroed())) {
              Patterns.assertEqual(contents(zeroed), new byte[length], "zeroed " + location);
            }
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> alignmentHoldsOrIsRefused() {
    return inEveryLocation(
        location -> {
          boolean hostReaches = location != MemoryLocation.DEVICE || bench().sharesMemory();
          for (long alignment : new long[] {1, 64, 4096, 65_536}) {
            Allocation aligned = Allocation.at(location).aligned(alignment);
            try (UnifiedBuffer<byte[]> buffer =
                memory().allocate(ElementType.BYTE, 1000, aligned)) {
              if (hostReaches) {
                assertThat(buffer.asSegment().address() % alignment).isZero();
              }
              byte[] pattern = Patterns.array(ElementType.BYTE, 1000, alignment);
              buffer.copyFrom(pattern);
              Patterns.assertEqual(contents(buffer), pattern, "aligned to " + alignment);
            } catch (UnsupportedOperationException e) {
              // a driver may refuse unusually large alignments of its own memory
              assertThat(hostReaches).as("refused: %s", e).isFalse();
              assertThat(alignment).isGreaterThan(64);
              assertThat(e).hasMessageContaining(Long.toString(alignment));
            }
          }
        });
  }

  @Test
  void aSecondBufferOfTheSameSizeComesFromThePool() {
    memory().allocate(ElementType.FLOAT, 10_000).close();
    MemoryStatistics before = memory().statistics();
    assertThat(before.totalPooled()).isGreaterThanOrEqualTo(40_000);
    memory().allocate(ElementType.FLOAT, 10_000).close();
    MemoryStatistics after = memory().statistics();
    assertThat(after.poolHits()).isEqualTo(before.poolHits() + 1);
    assertThat(after.driverAllocations()).isEqualTo(before.driverAllocations());
  }

  @Test
  void anUnpooledBufferComesFromTheDriverAndGoesBackToIt() {
    Allocation unpooled = Allocation.at(MemoryLocation.DEVICE).unpooled();
    memory().allocate(ElementType.FLOAT, 10_000, unpooled).close();
    long pooled = memory().statistics().totalPooled();
    long driver = memory().statistics().driverAllocations();
    memory().allocate(ElementType.FLOAT, 10_000, unpooled).close();
    assertThat(memory().statistics().totalPooled()).isEqualTo(pooled);
    assertThat(memory().statistics().driverAllocations()).isEqualTo(driver + 1);
  }

  @Test
  void aTagAndItsBytesStandInTheListOfLiveBuffers() {
    bench().buffer(ElementType.SHORT, 321, Allocation.at(MemoryLocation.HOST).tag("spring tide"));
    BufferInfo info =
        memory().buffers().stream()
            .filter(one -> one.tag().equals("spring tide"))
            .findFirst()
            .orElseThrow();
    assertThat(info.length()).isEqualTo(321);
    assertThat(info.byteSize()).isEqualTo(642);
    assertThat(info.location()).isEqualTo(MemoryLocation.HOST);
    assertThat(info.state()).isEqualTo(BufferState.HOST_ONLY);
    assertThat(info.elementType()).isEqualTo("SHORT");
  }

  @Test
  void aBufferAboveTheLargestIsRefusedWithThatMaximum() {
    long maximum = bench().accelerator().maximumAllocation();
    assumeTrue(maximum < Long.MAX_VALUE - 1, "the device names no maximum");
    assertThatThrownBy(() -> memory().allocate(ElementType.BYTE, maximum + 1))
        .isInstanceOf(OutOfDeviceMemoryException.class)
        .hasMessageContaining(Long.toString(maximum))
        .asInstanceOf(
            org.assertj.core.api.InstanceOfAssertFactories.type(OutOfDeviceMemoryException.class))
        .satisfies(e -> assertThat(e.requestedBytes()).isEqualTo(maximum + 1));
    assertThat(memory().statistics().activeBuffers()).isZero();
  }

  @Test
  void aNegativeLengthAndOneBeyond64BitsAreWrongArguments() {
    assertThatThrownBy(() -> memory().allocate(ElementType.FLOAT, -1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("-1");
    assertThatThrownBy(() -> memory().allocate(ElementType.DOUBLE, Long.MAX_VALUE / 4))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void unifiedMemoryThatNobodyCanServeIsUnsupported() {
    assumeFalse(bench().hasUnified(), "this accelerator serves UNIFIED");
    assertThatThrownBy(() -> memory().allocate(ElementType.FLOAT, 1, MemoryLocation.UNIFIED))
        .isInstanceOf(UnsupportedOperationException.class);
  }

  @TestFactory
  Stream<DynamicTest> aBufferCanBeAllocatedInTheBackground() {
    return inEveryLocation(
        location -> {
          try (UnifiedBuffer<long[]> buffer =
              memory().allocateAsync(ElementType.LONG, 777, Allocation.at(location)).join()) {
            long[] pattern = Patterns.array(ElementType.LONG, 777, 3);
            buffer.copyFrom(pattern);
            Patterns.assertEqual(contents(buffer), pattern, "allocated in the background");
          }
        });
  }

  @Test
  void aCancelledAllocationFreesItsBuffer() {
    for (int i = 0; i < 50; i++) {
      CompletableFuture<UnifiedBuffer<float[]>> future =
          memory()
              .allocateAsync(
                  ElementType.FLOAT, 5000, Allocation.at(MemoryLocation.DEVICE).zeroed());
      if (!future.cancel(true)) {
        future.join().close();
      }
    }
    eventually("no buffer is live", () -> memory().statistics().activeBuffers() == 0);
  }

  @Test
  void wrappedMemoryIsUsedWhereItLiesAndStaysTheCallers() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment mine = arena.allocate(4000, 8);
      try (UnifiedBuffer<float[]> buffer = memory().wrap(ElementType.FLOAT, mine)) {
        assertThat(buffer.length()).isEqualTo(1000);
        assertThat(buffer.location()).isEqualTo(MemoryLocation.HOST);
        assertThat(buffer.state()).isEqualTo(BufferState.HOST_ONLY);
        float[] pattern = pattern(1000, 5);
        buffer.copyFrom(pattern);
        Patterns.assertEqual(contents(ElementType.FLOAT, mine), pattern, "through the buffer");
        mine.setAtIndex(ValueLayout.JAVA_FLOAT, 17, -1);
        pattern[17] = -1;
        Patterns.assertEqual(contents(buffer), pattern, "through the segment");
      }
      assertThat(mine.getAtIndex(ValueLayout.JAVA_FLOAT, 17)).isEqualTo(-1);
    }
  }

  @Test
  void memoryThatCannotBeWrappedIsAWrongArgument() {
    try (Arena shared = Arena.ofShared();
        Arena confined = Arena.ofConfined()) {
      MemorySegment heap = MemorySegment.ofArray(new float[4]);
      for (MemorySegment wrong :
          new MemorySegment[] {
            heap,
            confined.allocate(16, 4),
            shared.allocate(16, 4).asReadOnly(),
            shared.allocate(17, 4)
          }) {
        assertThatThrownBy(() -> memory().wrap(ElementType.FLOAT, wrong))
            .isInstanceOf(IllegalArgumentException.class);
      }
    }
  }

  @Test
  void aMappedFileIsABufferAndWritesReachTheFile(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("ints.bin");
    int[] pattern = Patterns.array(ElementType.INT, 5000, 8);
    byte[] bytes = new byte[20_000];
    ElementType.INT.write(pattern, 0, MemorySegment.ofArray(bytes), 0, 5000);
    Files.write(file, bytes);
    try (UnifiedBuffer<int[]> read = memory().map(file, ElementType.INT, MapMode.READ)) {
      Patterns.assertEqual(contents(read), pattern, "read from the file");
      assertThatThrownBy(() -> read.copyFrom(new int[1]))
          .isInstanceOf(UnsupportedOperationException.class);
    }
    try (UnifiedBuffer<int[]> write = memory().map(file, ElementType.INT, MapMode.READ_WRITE)) {
      write.copyFrom(new int[] {1, 2, 3}, 0, 4000, 3);
    }
    int[] after = contents(ElementType.INT, MemorySegment.ofArray(Files.readAllBytes(file)));
    Patterns.assertEqual(
        after,
        Patterns.overlaid(ElementType.INT, pattern, 4000, new int[] {1, 2, 3}),
        "written to the file");
  }

  @Test
  void memoryInformationAddsUp() {
    var info = bench().accelerator().memory();
    assertThat(info.totalBytes()).isPositive();
    assertThat(info.freeBytes()).isBetween(0L, info.totalBytes());
    assertThat(bench().accelerator().maximumAllocation()).isPositive();
  }
}
