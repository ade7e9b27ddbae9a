package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A refusal by the device and one by the manager's limit start the same recovery. */
@ExtendWith(QuietLog.class)
class OutOfMemoryRecoveryTest {
  private static final int MEBIBYTE = 1 << 20;

  /** What refuses more than 4 MiB. */
  enum Cause {
    DEVICE,
    LIMIT
  }

  private SimulatedProvider simulated;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  private void open(Cause cause) {
    SimulatedHardware hardware =
        SimulatedHardware.discrete()
            .withMemory(cause == Cause.DEVICE ? 4 * MEBIBYTE : 256 * MEBIBYTE)
            .withMaximumAllocation(4 * MEBIBYTE);
    MemoryOptions options =
        MemoryOptions.builder()
            .memoryLimit(cause == Cause.LIMIT ? 4 * MEBIBYTE : -1)
            .maxPoolBytes(4 * MEBIBYTE)
            .build();
    simulated = new SimulatedProvider(hardware);
    tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options));
    memory = tidepool.memory();
  }

  @AfterEach
  void close() {
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  private UnifiedBuffer<byte[]> buffer(int mebibytes) {
    return memory.allocate(ElementType.BYTE, mebibytes * MEBIBYTE);
  }

  @ParameterizedTest
  @EnumSource(Cause.class)
  void idleBlocksOfAnotherSizeAreGivenBack(Cause cause) {
    open(cause);
    buffer(3).close();
    buffer(2).close();
    assertThat(memory.statistics().totalPooled()).isEqualTo(2 * MEBIBYTE);
  }

  @ParameterizedTest
  @EnumSource(Cause.class)
  void buffersThatAreClosingAreWaitedFor(Cause cause) {
    open(cause);
    UnifiedBuffer<byte[]> busy = buffer(3);
    busy.fill((byte) 1);
    simulated.device("simulated:0").pause();
    var copy = busy.copyToAsync(new byte[3 * MEBIBYTE]);
    busy.close();
    Thread.ofPlatform().start(() -> simulated.device("simulated:0").resume());
    buffer(3).close();
    assertThat(copy).succeedsWithin(Duration.ofSeconds(20));
  }

  @ParameterizedTest
  @EnumSource(Cause.class)
  void unreachableBuffersAreReclaimed(Cause cause) {
    open(cause);
    for (int i = 0; i < 8; i++) {
      memory.allocate(ElementType.BYTE, 2 * MEBIBYTE, MemoryLocation.UNIFIED).fill((byte) i);
    }
    assertThat(memory.statistics().leaks()).isPositive();
  }

  /** A collection that ran while the work was under way has not found them. */
  @Test
  void unreachableBuffersAreReclaimedWhenTheWorkOnThemHasEnded() throws InterruptedException {
    open(Cause.LIMIT);
    Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"));
    simulated.device("simulated:0").pause();
    runOnForgotten(kernel);
    runOnForgotten(kernel);
    Thread resumes =
        Thread.ofPlatform()
            .start(
                () -> {
                  LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
                  simulated.device("simulated:0").resume();
                });
    buffer(2).close();
    resumes.join();
    assertThat(memory.statistics().leaks()).isEqualTo(2);
  }

  @Test
  void theFutureOfWorkThatHasEndedKeepsNoBuffer() {
    open(Cause.LIMIT);
    Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"));
    List<CompletableFuture<Void>> kept = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      kept.add(runOnForgotten(kernel));
      kept.getLast().join();
    }
    buffer(4).close();
    assertThat(memory.statistics().leaks()).isEqualTo(4);
    assertThat(kept).allMatch(CompletableFuture::isDone);
  }

  private CompletableFuture<Void> runOnForgotten(Kernel kernel) {
    return kernel.executeAsync(Arguments.of("y", buffer(2)));
  }

  /** Work that holds what the program uses still does not hold up a request that must fail. */
  @Test
  void aRequestThatMustFailFailsSoonBesideWorkThatDoesNotEnd() {
    open(Cause.LIMIT);
    Kernel kernel = memory.compile(KernelSource.elementwise("y = y + 1"));
    try (UnifiedBuffer<byte[]> busy = buffer(2)) {
      simulated.device("simulated:0").pause();
      CompletableFuture<Void> run = kernel.executeAsync(Arguments.of("y", busy));
      long start = System.nanoTime();
      assertThatThrownBy(() -> buffer(3)).isInstanceOf(OutOfDeviceMemoryException.class);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(8));
      assertThat(run).isNotDone();
      simulated.device("simulated:0").resume();
    }
  }

  @ParameterizedTest
  @EnumSource(Cause.class)
  void secondCopiesAreGivenUp(Cause cause) {
    open(cause);
    UnifiedBuffer<byte[]> first = buffer(2);
    first.copyFrom(Patterns.array(ElementType.BYTE, 2 * MEBIBYTE, 1));
    first.synchronize();
    memory.trimExcess();
    UnifiedBuffer<byte[]> second = buffer(2);
    second.fill((byte) 2);
    UnifiedBuffer<byte[]> third = cause == Cause.DEVICE ? buffer(2) : null;
    byte[] seen = new byte[2 * MEBIBYTE];
    first.copyTo(seen);
    Patterns.assertEqual(seen, Patterns.array(ElementType.BYTE, 2 * MEBIBYTE, 1), "the first");
    assertThat(memory.statistics().evictions()).isEqualTo(1);
    first.close();
    second.close();
    if (third != null) {
      third.close();
    }
  }

  @Test
  void aRequestThatNothingHelpsEndsAfterOneClimbAndSaysWhatWasTried() {
    open(Cause.DEVICE);
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    buffers.add(
        memory.allocate(
            ElementType.BYTE, MEBIBYTE, Allocation.at(MemoryLocation.UNIFIED).tag("stays")));
    for (int i = 0; i < 3; i++) {
      UnifiedBuffer<byte[]> idle = buffer(1);
      idle.copyFrom(Patterns.array(ElementType.BYTE, MEBIBYTE, i));
      buffers.add(idle);
    }
    long asked = allocations();
    assertThatThrownBy(() -> buffer(4))
        .isInstanceOf(OutOfDeviceMemoryException.class)
        .hasMessageContaining("gave up 3 idle device copies")
        .hasMessageContaining("3 MiB of 4 MiB free, ")
        .hasMessageContaining("'stays' 1 MiB");
    // Once at first, twice for each copy given up, a few times for pools and garbage.
    assertThat(allocations() - asked).isLessThan(40);
    for (int i = 0; i < 3; i++) {
      byte[] seen = new byte[MEBIBYTE];
      buffers.get(i + 1).copyTo(seen);
      Patterns.assertEqual(seen, Patterns.array(ElementType.BYTE, MEBIBYTE, i), "buffer " + i);
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  private long allocations() {
    return simulated.device("simulated:0").ledger().calls(SpiCall.ALLOCATE);
  }
}
