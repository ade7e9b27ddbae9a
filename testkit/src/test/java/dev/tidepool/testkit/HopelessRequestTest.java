package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** A request for memory that nothing under way can help fails without waiting for what is. */
@ExtendWith(QuietLog.class)
@Timeout(60)
class HopelessRequestTest {
  private static final int MEBIBYTE = 1 << 20;

  /** The strategy that waits for work; named in the error if it was tried. */
  private static final String WAITED = "waited for buffers that are in use";

  private final CountDownLatch go = new CountDownLatch(1);
  private final SimulatedHardware hardware =
      SimulatedHardware.discrete().withMemory(4 * MEBIBYTE).withMaximumAllocation(4 * MEBIBYTE);
  private final SimulatedProvider simulated = new SimulatedProvider(hardware, hardware);
  private final Tidepool tidepool = open();

  private Tidepool open() {
    return Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()));
  }

  @AfterEach
  void close() {
    go.countDown();
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
  }

  /** A kernel that runs until it is let go. */
  private CompletableFuture<Void> held(UnifiedMemoryManager memory, UnifiedBuffer<byte[]> buffer) {
    CountDownLatch begun = new CountDownLatch(1);
    Kernel kernel =
        memory.compile(
            KernelSource.java(
                _ -> {
                  begun.countDown();
                  await(go);
                },
                KernelParameter.inout("y", ElementType.BYTE)));
    CompletableFuture<Void> run = kernel.executeAsync(Arguments.of("y", buffer), LaunchRange.of(1));
    await(begun);
    return run;
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).as("it came to be").isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Runs a kernel whose arguments do not fit together, beside another one that is held. */
  private void assertFailsWithoutWaiting(
      UnifiedMemoryManager memory, int mebibytes, CompletableFuture<Void> running) {
    Kernel add = memory.compile(KernelSource.elementwise("y = y + x"));
    try (UnifiedBuffer<byte[]> x = memory.allocate(ElementType.BYTE, mebibytes * MEBIBYTE);
        UnifiedBuffer<byte[]> y = memory.allocate(ElementType.BYTE, mebibytes * MEBIBYTE)) {
      x.fill((byte) 1);
      y.fill((byte) 2);
      assertThatThrownBy(() -> add.execute(Arguments.of("y", y, "x", x)))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .message()
          .doesNotContain(WAITED);
      assertThat(running).isNotDone();
    }
    go.countDown();
    running.join();
  }

  private UnifiedMemoryManager memory(Tidepool of, int device) {
    Accelerator accelerator = of.accelerator("simulated:" + device);
    return of.memory(accelerator);
  }

  @Test
  void aKernelOfAnotherTidepoolIsNotWaitedFor() {
    try (Tidepool other = open();
        UnifiedBuffer<byte[]> busy = memory(other, 0).allocate(ElementType.BYTE, MEBIBYTE)) {
      assertFailsWithoutWaiting(memory(tidepool, 0), 3, held(memory(other, 0), busy));
    }
  }

  @Test
  void aKernelOfAnotherDeviceIsNotWaitedFor() {
    try (UnifiedBuffer<byte[]> busy = memory(tidepool, 1).allocate(ElementType.BYTE, MEBIBYTE)) {
      assertFailsWithoutWaiting(memory(tidepool, 0), 3, held(memory(tidepool, 1), busy));
    }
  }

  @Test
  void aKernelOfTheDeviceThatWillGiveNothingUpIsNotWaitedFor() {
    UnifiedMemoryManager memory = memory(tidepool, 0);
    try (UnifiedBuffer<byte[]> busy =
        memory.allocate(ElementType.BYTE, MEBIBYTE, MemoryLocation.UNIFIED)) {
      assertFailsWithoutWaiting(memory, 2, held(memory, busy));
    }
  }

  @Test
  void aKernelOfTheDeviceThatWillGiveItsBufferUpIsWaitedFor() {
    UnifiedMemoryManager memory = memory(tidepool, 0);
    Kernel add = memory.compile(KernelSource.elementwise("y = y + 1"));
    try (UnifiedBuffer<byte[]> busy = memory.allocate(ElementType.BYTE, 3 * MEBIBYTE)) {
      CompletableFuture<Void> running = held(memory, busy);
      try (UnifiedBuffer<byte[]> host =
          memory.allocate(ElementType.BYTE, 2 * MEBIBYTE, MemoryLocation.HOST)) {
        CompletableFuture<Void> behind = add.executeAsync(Arguments.of("y", host));
        go.countDown();
        behind.join();
        running.join();
      }
    }
  }
}
