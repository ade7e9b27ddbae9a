package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.AcceleratorException;
import dev.tidepool.ElementType;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.HostRegion;
import dev.tidepool.link.StagingThreads;
import dev.tidepool.link.TransferContext;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PoolLimits;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.TransferPriority;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Long transfers through staging that several threads move. */
@ExtendWith(QuietLog.class)
@Timeout(240)
class ParallelStagingTest {
  private static final int MIB = 1 << 20;

  /** Bytes of a transfer of 17 whole chunks and a part of one. */
  private static final int LONG = 17 * MIB + 4567;

  /** Chunks of {@link #LONG}. */
  private static final int CHUNKS = 18;

  private static final int HELPERS = 3;

  /** Staging blocks of one thread. */
  private static final int BLOCKS = 2;

  private final Rig rig = new Rig();

  /** A record that one value of cannot be made. */
  record Picky(long value) {
    static final long REFUSED = 4711;

    Picky {
      if (value == REFUSED) {
        throw new OutOfMemoryError("no heap left for this one");
      }
    }
  }

  /** A link to a discrete device, and threads that help. */
  private static final class Rig implements AutoCloseable {
    private final SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    private final FaultInjector faults = new FaultInjector(simulated);
    private final Device device = faults.discover().devices().getFirst();
    private final MemoryPool staging =
        new MemoryPool(
            "staging",
            (bytes, alignment) -> device.allocate(bytes, alignment, BlockKind.PINNED),
            new PoolLimits(true, 1 << 30, 1 << 30, 0, EvictionPolicy.LRU, false));
    private final Helpers helpers = new Helpers();
    private final DeviceLink link =
        new DeviceLink(device, (bytes, _) -> lease(bytes), helpers, 4 * MIB, () -> {});

    private Lease lease(long bytes) {
      return staging.acquire(bytes, 1);
    }

    SimulatedDevice simulatedDevice() {
      return simulated.device("simulated:0");
    }

    long writes() {
      return simulatedDevice().ledger().calls(SpiCall.WRITE);
    }

    void upload(byte[] bytes, Block block) {
      link.upload(new HostRegion.Elements<>(ElementType.BYTE, bytes, 0, bytes.length), block, 0);
    }

    byte[] download(Block block, int bytes) {
      byte[] read = new byte[bytes];
      link.download(block, 0, new HostRegion.Elements<>(ElementType.BYTE, read, 0, bytes));
      return read;
    }

    void assertNothingIsHeld() {
      assertThat(staging.statistics().leasedBlocks()).isZero();
      assertThat(simulatedDevice().openEvents()).isZero();
    }

    @Override
    public void close() {
      faults.disarm();
      simulatedDevice().resume();
      assertNothingIsHeld();
      link.close();
      staging.close();
      assertThat(simulatedDevice().liveBlocks()).isZero();
      device.close();
      assertThat(simulated.violations()).isEmpty();
    }
  }

  /** Up to so many threads, one for each task. */
  private static final class Helpers implements StagingThreads {
    private final AtomicInteger started = new AtomicInteger();
    private final AtomicInteger free = new AtomicInteger(HELPERS);
    private final List<Runnable> kept = Collections.synchronizedList(new ArrayList<>());
    private volatile boolean keeps;

    @Override
    public int most() {
      return HELPERS;
    }

    /** A thread is free a little later than what it helped with has ended. */
    void awaitFree() {
      await().until(() -> free.get() == HELPERS);
    }

    @Override
    public boolean tryStart(Runnable task) {
      if (keeps) {
        return kept.add(task);
      }
      if (free.getAndDecrement() <= 0) {
        free.incrementAndGet();
        return false;
      }
      started.incrementAndGet();
      Thread.ofPlatform()
          .daemon()
          .start(
              () -> {
                try {
                  task.run();
                } finally {
                  free.incrementAndGet();
                }
              });
      return true;
    }
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static byte[] pattern(int length, int seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private Block block(long bytes) {
    return rig.device.allocate(bytes, 64, BlockKind.DEVICE);
  }

  static Stream<ElementType<?>> everyElementType() {
    return Patterns.TYPES.stream();
  }

  @ParameterizedTest
  @MethodSource
  <A> void everyElementType(ElementType<A> type) {
    int front = 3;
    int count = (int) (LONG / type.byteSize()) - front;
    A sent = type.newArray(front + count);
    MemorySegment random = MemorySegment.ofArray(pattern(LONG, 1));
    type.read(random, 0, sent, 0, front + count);
    Block block = block(LONG + 64);
    A arrived = type.newArray(1 + count);
    rig.link.upload(new HostRegion.Elements<>(type, sent, front, count), block, 48);
    int upwards = rig.helpers.started.get();
    assertThat(upwards).isPositive();
    rig.helpers.awaitFree();
    rig.link.download(block, 48, new HostRegion.Elements<>(type, arrived, 1, count));
    assertThat(rig.helpers.started.get()).isGreaterThan(upwards);
    assertThat(bytes(type, arrived, 1, count).mismatch(bytes(type, sent, front, count)))
        .isEqualTo(-1);
    block.free();
  }

  private static <A> MemorySegment bytes(ElementType<A> type, A array, int start, int count) {
    MemorySegment bytes = MemorySegment.ofArray(new byte[(int) (count * type.byteSize())]);
    type.write(array, start, bytes, 0, count);
    return bytes;
  }

  @Test
  void segmentsOfAllThreadsAreDividedThoseOfOneAreNot() {
    byte[] sent = pattern(LONG, 2);
    Block block = block(LONG);
    for (boolean shared : new boolean[] {true, false}) {
      rig.link.fill(block, LONG, (byte) 0);
      rig.helpers.awaitFree();
      rig.helpers.started.set(0);
      try (Arena arena = shared ? Arena.ofShared() : Arena.ofConfined()) {
        MemorySegment memory = arena.allocate(2L * LONG);
        MemorySegment source = memory.asSlice(0, LONG).copyFrom(MemorySegment.ofArray(sent));
        MemorySegment target = memory.asSlice(LONG);
        rig.link.upload(new HostRegion.Segment(source, false), block, 0);
        rig.link.download(block, 0, new HostRegion.Segment(target, false));
        assertThat(target.mismatch(source)).isEqualTo(-1);
      }
      assertThat(rig.helpers.started.get() > 0).isEqualTo(shared);
    }
    block.free();
  }

  @Test
  void whatIsShortOrMustNotBePipelinedIsNotDivided() {
    Block block = block(LONG);
    byte[] shorter = pattern(16 * MIB - 1, 3);
    rig.upload(shorter, block);
    assertThat(rig.download(block, shorter.length)).isEqualTo(shorter);
    byte[] sent = pattern(LONG, 3);
    TransferContext one = new TransferContext(TransferPriority.NORMAL, 0, true, false, _ -> {});
    one.run(() -> rig.upload(sent, block));
    one.run(() -> assertThat(rig.download(block, LONG)).isEqualTo(sent));
    assertThat(rig.helpers.started).hasValue(0);
    block.free();
  }

  @Test
  void aTransferGoesInChunksOfTheSizeThatIsAskedFor() {
    Block block = block(LONG);
    byte[] sent = pattern(LONG, 4);
    new TransferContext(TransferPriority.NORMAL, 100_000, true, true, _ -> {})
        .run(() -> rig.upload(sent, block));
    assertThat(rig.helpers.started.get()).isPositive();
    assertThat(rig.writes()).isEqualTo(Math.ceilDiv(LONG, 100_000));
    assertThat(rig.download(block, LONG)).isEqualTo(sent);
    block.free();
  }

  @Test
  void withoutAFreeThreadTheCallerMovesAll() {
    rig.helpers.free.set(0);
    Block block = block(LONG);
    byte[] sent = pattern(LONG, 5);
    rig.upload(sent, block);
    assertThat(rig.download(block, LONG)).isEqualTo(sent);
    assertThat(rig.helpers.started).hasValue(0);
    assertThat(rig.writes()).isEqualTo(CHUNKS);
    block.free();
  }

  @Test
  void aThreadThatBeginsAfterTheEndDoesNothing() {
    rig.helpers.keeps = true;
    Block block = block(LONG);
    byte[] sent = pattern(LONG, 6);
    rig.upload(sent, block);
    rig.assertNothingIsHeld();
    assertThat(rig.helpers.kept).hasSize(HELPERS);
    rig.helpers.kept.forEach(Runnable::run);
    assertThat(rig.writes()).isEqualTo(CHUNKS);
    assertThat(rig.download(block, LONG)).isEqualTo(sent);
    block.free();
  }

  @Test
  void severalTransfersAtOnceArriveInBothDirections() {
    List<CompletableFuture<Void>> all =
        IntStream.range(0, 4)
            .mapToObj(
                i ->
                    CompletableFuture.runAsync(
                        () -> {
                          Block block = block(LONG);
                          for (int round = 0; round < 5; round++) {
                            byte[] sent = pattern(LONG - i, 10 * i + round);
                            rig.upload(sent, block);
                            assertThat(Arrays.equals(rig.download(block, LONG - i), sent)).isTrue();
                          }
                          block.free();
                        },
                        task -> Thread.ofPlatform().start(task)))
            .toList();
    all.forEach(CompletableFuture::join);
    assertThat(rig.helpers.started.get()).isPositive();
  }

  @ParameterizedTest
  @EnumSource(names = {"REFUSED", "BROKEN", "TRANSIENT"})
  void aFailureAnywhereIsThrownAndLeavesNothingBehind(Failure how) {
    Block block = block(LONG);
    byte[] sent = pattern(LONG, 7);
    for (int number = 1; number <= CHUNKS; number++) {
      rig.faults.fail(SpiCall.WRITE, number, how);
      assertThatThrownBy(() -> rig.upload(sent, block)).isInstanceOf(AcceleratorException.class);
      rig.assertNothingIsHeld();
      rig.upload(sent, block);
      rig.faults.fail(SpiCall.READ, number, how);
      assertThatThrownBy(() -> rig.download(block, LONG)).isInstanceOf(AcceleratorException.class);
      rig.assertNothingIsHeld();
      assertThat(Arrays.equals(rig.download(block, LONG), sent)).isTrue();
    }
    block.free();
  }

  @Test
  void furtherFailuresAreSuppressedAndTheOthersStop() {
    Block block = block(LONG);
    byte[] sent = pattern(LONG, 8);
    rig.faults.failAlways(SpiCall.WRITE, Failure.REFUSED);
    assertThatThrownBy(() -> rig.upload(sent, block))
        .isInstanceOf(AcceleratorException.class)
        .satisfies(
            failure ->
                assertThat(failure.getSuppressed())
                    .hasSizeLessThanOrEqualTo(HELPERS)
                    .allMatch(AcceleratorException.class::isInstance));
    rig.assertNothingIsHeld();
    block.free();
  }

  @Test
  void anErrorOfAThreadIsThrownAndLeavesNothingBehind() {
    Block block = block(LONG);
    ElementType<long[]> numbers = ElementType.LONG;
    ElementType<Picky[]> picky = ElementType.struct(Picky.class);
    int count = LONG / Long.BYTES;
    for (int chunk = 0; chunk < CHUNKS; chunk += 5) {
      long[] sent = new long[count];
      sent[chunk * (MIB / Long.BYTES)] = Picky.REFUSED;
      rig.link.upload(new HostRegion.Elements<>(numbers, sent, 0, count), block, 0);
      Picky[] target = new Picky[count];
      assertThatThrownBy(
              () -> rig.link.download(block, 0, new HostRegion.Elements<>(picky, target, 0, count)))
          .hasStackTraceContaining("no heap left for this one");
      rig.assertNothingIsHeld();
    }
    block.free();
  }

  @Test
  void anUrgentTransferGoesBetweenTheChunksOfAllThreads() {
    int held = (1 + HELPERS) * BLOCKS;
    Block bulk = block(2 * LONG);
    Block urgent = block(LONG);
    byte[] low = pattern(2 * LONG, 9);
    byte[] high = pattern(LONG, 10);
    rig.simulatedDevice().pause();
    CompletableFuture<Void> slow = moving(TransferPriority.LOW, low, bulk, () -> {});
    await().atMost(Duration.ofSeconds(20)).until(() -> rig.writes() == held);
    List<Long> writes = Collections.synchronizedList(new ArrayList<>());
    CompletableFuture<Void> fast =
        moving(TransferPriority.HIGH, high, urgent, () -> writes.add(rig.writes() - held));
    // What comes second is not divided: two chunks of its are under way.
    await().atMost(Duration.ofSeconds(20)).until(() -> rig.writes() == held + 2);
    rig.simulatedDevice().resume();
    fast.join();
    slow.join();
    assertThat(writes).containsExactly(0L, 1L, 2L, 3L, 4L);
    assertThat(rig.download(bulk, 2 * LONG)).isEqualTo(low);
    assertThat(rig.download(urgent, LONG)).isEqualTo(high);
    bulk.free();
    urgent.free();
  }

  private CompletableFuture<Void> moving(
      TransferPriority priority, byte[] bytes, Block block, Runnable submitted) {
    TransferContext context = new TransferContext(priority, 0, true, true, _ -> submitted.run());
    return CompletableFuture.runAsync(
        () -> context.run(() -> rig.upload(bytes, block)), task -> Thread.ofPlatform().start(task));
  }

  @Test
  void theListenerHearsOfEveryByteOnTheThreadOfTheTransfer() {
    Block block = block(LONG);
    byte[] sent = pattern(LONG, 11);
    for (int round = 0; round < 10; round++) {
      AtomicLong reported = new AtomicLong();
      Thread here = Thread.currentThread();
      new TransferContext(
              TransferPriority.NORMAL,
              0,
              true,
              true,
              bytes -> {
                assertThat(Thread.currentThread()).isEqualTo(here);
                reported.addAndGet(bytes);
              })
          .run(() -> rig.upload(sent, block));
      assertThat(reported).hasValue(LONG);
    }
    block.free();
  }

  @Test
  void anInterruptStaysSetAndEndsNothing() {
    Block block = block(LONG);
    byte[] sent = pattern(LONG, 12);
    Thread.currentThread().interrupt();
    rig.upload(sent, block);
    byte[] read = rig.download(block, LONG);
    assertThat(Thread.interrupted()).isTrue();
    assertThat(read).isEqualTo(sent);
    block.free();
  }

  @Test
  void aFullHeapLeavesNothingBehind() throws Exception {
    Class<?> scenario = FullHeap.loader().loadClass(FullHeapScenario.class.getName());
    var constructor = scenario.getDeclaredConstructor();
    constructor.setAccessible(true);
    ((Callable<?>) constructor.newInstance()).call();
  }

  /** Transfers with a library whose heap can be full. */
  static final class FullHeapScenario implements Callable<Void> {
    private static final int ENOUGH = 3;

    @Override
    public Void call() {
      try (Rig rig = new Rig()) {
        Block block = rig.device.allocate(LONG, 64, BlockKind.DEVICE);
        byte[] sent = pattern(LONG, 13);
        rig.upload(sent, block);
        rig.download(block, LONG);
        failEverywhere(rig, () -> rig.upload(sent, block));
        failEverywhere(rig, () -> rig.download(block, LONG));
        rig.upload(sent, block);
        assertThat(rig.download(block, LONG)).isEqualTo(sent);
        block.free();
      }
      return null;
    }

    private static void failEverywhere(Rig rig, Runnable transfer) {
      for (boolean stays : new boolean[] {false, true}) {
        int clean = 0;
        for (int number = 0; clean < ENOUGH; number++) {
          FullHeap.fillUpAfter(number, stays);
          try {
            transfer.run();
          } catch (OutOfMemoryError e) {
            assertThat(e).hasMessage("on purpose");
          } finally {
            clean = FullHeap.clear() ? 0 : clean + 1;
          }
          rig.assertNothingIsHeld();
        }
      }
    }
  }
}
