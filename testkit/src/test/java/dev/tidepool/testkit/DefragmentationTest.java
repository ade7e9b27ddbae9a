package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.Defragmentation;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Small buffers that are scattered over the device's memory are moved together. */
class DefragmentationTest {
  private static final long MEBIBYTE = 1 << 20;
  private static final int SMALL = 16 << 10;

  private final MemoryOptions.Builder options = MemoryOptions.builder();

  private Tidepool open(SimulatedProvider simulated) {
    return Discovery.using(List.of(simulated), () -> Tidepool.open(options.build()));
  }

  private static SimulatedProvider deviceOf(long bytes) {
    return new SimulatedProvider(SimulatedHardware.discrete().withMemory(bytes));
  }

  private static void end(Tidepool tidepool, SimulatedProvider simulated) {
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  /** Buffers with a pattern each, over so many bytes of the device. */
  private static List<UnifiedBuffer<byte[]>> filled(
      UnifiedMemoryManager memory, long bytes, MemoryLocation location) {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    for (int i = 0; i < bytes / SMALL; i++) {
      UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, SMALL, location);
      buffer.copyFrom(Patterns.array(ElementType.BYTE, SMALL, i));
      buffers.add(buffer);
    }
    return buffers;
  }

  private static void closeAllBut(int every, List<UnifiedBuffer<byte[]>> buffers) {
    for (int i = 0; i < buffers.size(); i++) {
      if (i % every != 0) {
        buffers.get(i).close();
      }
    }
  }

  private static void verify(int every, List<UnifiedBuffer<byte[]>> buffers) {
    byte[] contents = new byte[SMALL];
    for (int i = 0; i < buffers.size(); i += every) {
      buffers.get(i).copyTo(contents);
      assertThat(contents).isEqualTo(Patterns.array(ElementType.BYTE, SMALL, i));
    }
  }

  @Test
  void holesOverHalfOfADeviceCloseAndALargeBlockFitsAgain() {
    SimulatedProvider simulated = deviceOf(64 * MEBIBYTE);
    Tidepool tidepool = open(simulated);
    UnifiedMemoryManager memory = tidepool.memory();
    SimulatedDevice device = simulated.device("simulated:0");
    List<UnifiedBuffer<byte[]>> buffers = filled(memory, 60 * MEBIBYTE, MemoryLocation.DEVICE);
    closeAllBut(4, buffers);
    // Of another user, so that no strategy helps.
    long large = 32 * MEBIBYTE;
    assertThatThrownBy(() -> device.allocate(large, 256, BlockKind.DEVICE))
        .isInstanceOf(OutOfDeviceMemoryException.class);
    assertThat(memory.fragmentation().ratio()).isGreaterThan(0.5);
    assertThat(memory.fragmentation().largestFreeBlock()).isLessThan(large);

    Defragmentation done = memory.defragment();

    Block block = device.allocate(large, 256, BlockKind.DEVICE);
    block.free();
    assertThat(done.movedBuffers()).isPositive();
    assertThat(done.movedBytes()).isEqualTo(done.movedBuffers() * SMALL);
    assertThat(done.returnedBytes()).isGreaterThanOrEqualTo(large);
    assertThat(memory.fragmentation().largestFreeBlock()).isGreaterThanOrEqualTo(large);
    assertThat(memory.statistics().evictions()).isZero();
    assertThat(memory.statistics().totalAllocated()).isEqualTo(buffers.size() / 4L * SMALL);
    verify(4, buffers);
    assertThat(memory.defragment().returnedBytes()).isZero();
    end(tidepool, simulated);
  }

  @Test
  void anAllocationMovesBuffersTogetherBeforeItEvictsAny() {
    SimulatedProvider simulated = deviceOf(64 * MEBIBYTE);
    Tidepool tidepool = open(simulated);
    UnifiedMemoryManager memory = tidepool.memory();
    List<UnifiedBuffer<byte[]>> buffers = filled(memory, 60 * MEBIBYTE, MemoryLocation.DEVICE);
    closeAllBut(4, buffers);
    try (UnifiedBuffer<byte[]> large = memory.allocate(ElementType.BYTE, 32 * MEBIBYTE)) {
      large.fill((byte) 9);
      assertThat(memory.statistics().evictions()).isZero();
      verify(4, buffers);
    }
    end(tidepool, simulated);
  }

  @Test
  void kernelsFindMovedBuffers() {
    SimulatedProvider simulated = deviceOf(64 * MEBIBYTE);
    Tidepool tidepool = open(simulated);
    UnifiedMemoryManager memory = tidepool.memory();
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      buffers.add(memory.copyOf(Patterns.array(ElementType.FLOAT, 1024, i)));
    }
    for (int i = 0; i < 1000; i++) {
      if (i % 10 != 0) {
        buffers.get(i).close();
      }
    }
    assertThat(memory.defragment().movedBuffers()).isPositive();
    Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"));
    for (int i = 0; i < 1000; i += 10) {
      kernel.execute(Arguments.of("y", buffers.get(i)));
      float[] expected = Patterns.array(ElementType.FLOAT, 1024, i);
      for (int j = 0; j < expected.length; j++) {
        expected[j] += 1;
      }
      float[] found = new float[1024];
      buffers.get(i).copyTo(found);
      assertThat(found).isEqualTo(expected);
    }
    end(tidepool, simulated);
  }

  @ParameterizedTest
  @EnumSource(value = HostAccess.class, names = "MAPPED", mode = EnumSource.Mode.EXCLUDE)
  void buffersThatAreMappedOrExposedStay(HostAccess access) {
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete().withMemory(64 * MEBIBYTE).withHostAccess(access));
    Tidepool tidepool = open(simulated);
    UnifiedMemoryManager memory = tidepool.memory();
    List<UnifiedBuffer<byte[]>> buffers = filled(memory, 8 * MEBIBYTE, MemoryLocation.UNIFIED);
    MemorySegment exposed = buffers.get(0).asSegment();
    HostMapping mapping = buffers.get(4).map(MapMode.READ_WRITE);
    closeAllBut(4, buffers);
    assertThat(memory.defragment().movedBuffers()).isPositive();
    exposed.set(ValueLayout.JAVA_BYTE, 0, (byte) 77);
    mapping.segment().set(ValueLayout.JAVA_BYTE, 1, (byte) 78);
    mapping.close();
    byte[] contents = new byte[SMALL];
    buffers.get(0).copyTo(contents);
    assertThat(contents[0]).isEqualTo((byte) 77);
    buffers.get(0).copyFrom(Patterns.array(ElementType.BYTE, SMALL, 0));
    buffers.get(4).copyTo(contents);
    assertThat(contents[1]).isEqualTo((byte) 78);
    buffers.get(4).copyFrom(Patterns.array(ElementType.BYTE, SMALL, 4));
    verify(4, buffers);
    end(tidepool, simulated);
  }

  @Test
  void aBufferWithWorkUnderWayStays() throws Exception {
    SimulatedProvider simulated = deviceOf(64 * MEBIBYTE);
    Tidepool tidepool = open(simulated);
    UnifiedMemoryManager memory = tidepool.memory();
    SimulatedDevice device = simulated.device("simulated:0");
    List<UnifiedBuffer<byte[]>> buffers = filled(memory, MEBIBYTE, MemoryLocation.DEVICE);
    closeAllBut(buffers.size(), buffers);
    device.pause();
    Future<Void> copy =
        buffers.getFirst().copyFromAsync(Patterns.array(ElementType.BYTE, SMALL, 5));
    Defragmentation done = memory.defragment();
    device.resume();
    copy.get();
    assertThat(done).isEqualTo(new Defragmentation(0, 0, 0));
    byte[] contents = new byte[SMALL];
    buffers.getFirst().copyTo(contents);
    assertThat(contents).isEqualTo(Patterns.array(ElementType.BYTE, SMALL, 5));
    end(tidepool, simulated);
  }

  @Test
  void scatteredMemoryIsDefragmentedInTheBackground() {
    options.defragmentInterval(Duration.ofMillis(300));
    SimulatedProvider simulated = deviceOf(64 * MEBIBYTE);
    Tidepool tidepool = open(simulated);
    UnifiedMemoryManager memory = tidepool.memory();
    List<UnifiedBuffer<byte[]>> buffers = filled(memory, 32 * MEBIBYTE, MemoryLocation.DEVICE);
    closeAllBut(4, buffers);
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> memory.statistics().reservedBytes() < 24 * MEBIBYTE);
    verify(4, buffers);
    end(tidepool, simulated);
  }

  @Test
  void nothingIsMovedInTheBackgroundWhenTheIntervalIsZero() throws Exception {
    options.defragmentInterval(Duration.ZERO);
    SimulatedProvider simulated = deviceOf(64 * MEBIBYTE);
    Tidepool tidepool = open(simulated);
    UnifiedMemoryManager memory = tidepool.memory();
    List<UnifiedBuffer<byte[]>> buffers = filled(memory, 32 * MEBIBYTE, MemoryLocation.DEVICE);
    closeAllBut(4, buffers);
    long bound = memory.fragmentation().boundBytes();
    Thread.sleep(800);
    assertThat(memory.fragmentation().boundBytes()).isEqualTo(bound).isPositive();
    end(tidepool, simulated);
  }

  @ParameterizedTest
  @EnumSource(Failure.class)
  void aFailedCopyLosesNothing(Failure failure) {
    SimulatedProvider simulated = deviceOf(64 * MEBIBYTE);
    FaultInjector faults = new FaultInjector(simulated);
    Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options.build()));
    UnifiedMemoryManager memory = tidepool.memory();
    List<UnifiedBuffer<byte[]>> buffers = filled(memory, 4 * MEBIBYTE, MemoryLocation.DEVICE);
    closeAllBut(4, buffers);
    long live = memory.statistics().totalAllocated();
    faults.fail(SpiCall.COPY, 7, failure);
    memory.defragment();
    assertThat(faults.fired()).contains(SpiCall.COPY);
    assertThat(memory.statistics().totalAllocated()).isEqualTo(live);
    assertThat(memory.statistics().activeBuffers()).isEqualTo(buffers.size() / 4);
    if (failure != Failure.DEVICE_LOST) {
      verify(4, buffers);
    }
    end(tidepool, simulated);
  }

  private enum Where {
    DISCRETE,
    INTEGRATED,
    CPU
  }

  @ParameterizedTest
  @EnumSource(Where.class)
  void threadsGoOnWhileBuffersMove(Where where) throws Exception {
    long seed = Long.getLong("tidepool.test.seed", System.nanoTime());
    System.out.println("defragmentation under threads on " + where + ", seed " + seed);
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete()
                .withMemory(256 * MEBIBYTE)
                .withHostAccess(where == Where.DISCRETE ? HostAccess.NONE : HostAccess.DIRECT));
    Tidepool tidepool = open(simulated);
    List<Accelerator> accelerators = tidepool.accelerators();
    UnifiedMemoryManager memory =
        where == Where.CPU ? tidepool.memory(accelerators.getLast()) : tidepool.memory();
    AtomicBoolean stop = new AtomicBoolean();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        ExecutorService platform = Executors.newCachedThreadPool()) {
      List<Future<?>> users = new ArrayList<>();
      for (int user = 0; user < 4; user++) {
        Random random = new Random(seed + user);
        users.add((user % 2 == 0 ? platform : threads).submit(() -> use(memory, random)));
      }
      Future<Long> mover =
          platform.submit(
              () -> {
                long moved = 0;
                while (!stop.get()) {
                  moved += memory.defragment().movedBuffers();
                }
                return moved;
              });
      for (Future<?> user : users) {
        user.get();
      }
      stop.set(true);
      assertThat(mover.get()).isPositive();
    }
    assertThat(memory.statistics().totalAllocated()).isZero();
    end(tidepool, simulated);
  }

  /** Keeps some hundred buffers, each filled with a byte of its own, and looks at them. */
  private static void use(UnifiedMemoryManager memory, Random random) {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    List<Byte> values = new ArrayList<>();
    for (int round = 0; round < 3000; round++) {
      int size = 1 + random.nextInt(8 << 10);
      byte value = (byte) random.nextInt();
      UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, size);
      if (random.nextInt(8) > 0) {
        buffer.fill(value);
        buffers.add(buffer);
        values.add(value);
      } else {
        buffer.close();
      }
      while (buffers.size() > (round / 500 % 2 == 0 ? 300 : 40)) {
        int victim = random.nextInt(buffers.size());
        try (UnifiedBuffer<byte[]> last = buffers.remove(victim)) {
          check(last, values.remove(victim));
        }
      }
    }
    for (int i = 0; i < buffers.size(); i++) {
      check(buffers.get(i), values.get(i));
      buffers.get(i).close();
    }
  }

  private static void check(UnifiedBuffer<byte[]> buffer, byte value) {
    byte[] expected = new byte[Math.toIntExact(buffer.length())];
    Arrays.fill(expected, value);
    byte[] found = new byte[expected.length];
    buffer.copyTo(found);
    assertThat(found).isEqualTo(expected);
  }
}
