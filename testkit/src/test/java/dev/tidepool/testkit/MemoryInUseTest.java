package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeUse;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.order.MemoryWaiters;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * A request that others leave no room for gets memory as soon as they do, however they came to have
 * it, and however it comes back.
 */
@ExtendWith(QuietLog.class)
@Timeout(120)
class MemoryInUseTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int HALF = MEBIBYTE / 2;

  private final SimulatedHardware hardware =
      SimulatedHardware.discrete().withMemory(4 * MEBIBYTE).withMaximumAllocation(4 * MEBIBYTE);
  private final SimulatedProvider simulated = new SimulatedProvider(hardware);

  @TempDir private Path spilled;

  private void on(MemoryOptions.Builder options, Consumer<UnifiedMemoryManager> test) {
    try (Tidepool tidepool =
        Discovery.using(List.of(simulated), () -> Tidepool.open(options.pooling(false).build()))) {
      test.accept(tidepool.memory(tidepool.accelerator("simulated:0")));
    }
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }

  /** A kernel that keeps its buffer until it is let go. */
  private static final class HeldKernel {
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch end = new CountDownLatch(1);
    private final CompletableFuture<Void> run;

    HeldKernel(UnifiedMemoryManager memory, UnifiedBuffer<byte[]> buffer) {
      Kernel kernel =
          memory.compile(
              KernelSource.java(
                  _ -> {
                    begun.countDown();
                    pass(end);
                  },
                  KernelParameter.inout("y", ElementType.BYTE)));
      run = kernel.executeAsync(Arguments.of("y", buffer), LaunchRange.of(1));
      pass(begun);
    }

    void end() {
      end.countDown();
      run.join();
    }
  }

  private static void pass(CountDownLatch latch) {
    try {
      assertThat(latch.await(60, TimeUnit.SECONDS)).as("it came to be").isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** What a thread of its own asks for, which there is no room for. */
  private static final class Request {
    private final FutureTask<Void> task;
    private final Thread thread;

    Request(Runnable asking) {
      task = new FutureTask<>(asking, null);
      thread = Thread.ofPlatform().daemon().start(task);
    }

    /** Waits until it waits for memory, or has ended. */
    void awaitWaiting() {
      await().until(() -> task.isDone() || waits());
    }

    private boolean waits() {
      return thread.getState() == Thread.State.TIMED_WAITING
          && Arrays.stream(thread.getStackTrace())
              .anyMatch(frame -> frame.getClassName().endsWith(".ReleaseWait"));
    }

    void assertServed() {
      assertThat(task).succeedsWithin(60, TimeUnit.SECONDS);
    }
  }

  /** A kernel over a buffer of the host, which needs that many bytes of the device. */
  private static Request increment(UnifiedMemoryManager memory, int bytes) {
    Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
    return new Request(
        () -> {
          try (UnifiedBuffer<byte[]> y =
              memory.allocate(ElementType.BYTE, bytes, MemoryLocation.HOST)) {
            y.fill((byte) 41);
            increment.execute(Arguments.of("y", y));
            byte[] seen = new byte[bytes];
            y.copyTo(seen);
            assertThat(seen).containsOnly(42);
          }
        });
  }

  @Test
  void aBufferThatGotMemoryDuringTheWaitAndIsQueuedGivesItUp() {
    on(
        MemoryOptions.builder(),
        memory -> {
          try (UnifiedBuffer<byte[]> busy = memory.allocate(ElementType.BYTE, 2 * MEBIBYTE);
              UnifiedBuffer<byte[]> x =
                  memory.allocate(ElementType.BYTE, 16, MemoryLocation.UNIFIED)) {
            x.fill((byte) 3);
            HeldKernel ofBusy = new HeldKernel(memory, busy);
            HeldKernel ofX = new HeldKernel(memory, x);
            Request request = increment(memory, 3 * MEBIBYTE + HALF);
            request.awaitWaiting();
            try (UnifiedBuffer<byte[]> queued = memory.allocate(ElementType.BYTE, MEBIBYTE)) {
              Kernel copy = memory.compile(KernelSource.elementwise("y = x"));
              CompletableFuture<Void> behindX =
                  copy.executeAsync(Arguments.of("y", queued.slice(0, 16), "x", x));
              ofBusy.end();
              request.assertServed();
              ofX.end();
              behindX.join();
              byte[] seen = new byte[16];
              queued.slice(0, 16).copyTo(seen);
              assertThat(seen).containsOnly(3);
            }
          }
        });
  }

  @Test
  void ofBuffersThatAreOnlyQueuedTheLastRequestedGivesItsMemoryUp() {
    on(
        MemoryOptions.builder(),
        memory -> {
          try (UnifiedBuffer<byte[]> busy = memory.allocate(ElementType.BYTE, MEBIBYTE);
              UnifiedBuffer<byte[]> first = memory.allocate(ElementType.BYTE, MEBIBYTE);
              UnifiedBuffer<byte[]> second = memory.allocate(ElementType.BYTE, MEBIBYTE);
              UnifiedBuffer<byte[]> third = memory.allocate(ElementType.BYTE, MEBIBYTE)) {
            List<UnifiedBuffer<byte[]>> queued = List.of(first, second, third);
            queued.forEach(buffer -> buffer.fill((byte) 1));
            busy.fill((byte) 2);
            HeldKernel ofBusy = new HeldKernel(memory, busy);
            Kernel copy = memory.compile(KernelSource.elementwise("y = x"));
            List<CompletableFuture<Void>> behindBusy =
                queued.stream()
                    .map(buffer -> copy.executeAsync(Arguments.of("y", buffer, "x", busy)))
                    .toList();
            increment(memory, HALF).assertServed();
            assertThat(queued)
                .extracting(UnifiedBuffer::state)
                .containsExactly(
                    BufferState.DEVICE_ONLY, BufferState.DEVICE_ONLY, BufferState.HOST_ONLY);
            ofBusy.end();
            behindBusy.forEach(CompletableFuture::join);
            byte[] seen = new byte[MEBIBYTE];
            third.copyTo(seen);
            assertThat(seen).containsOnly(2);
          }
        });
  }

  @Test
  void memoryThatAThreadIsAboutToGiveBackIsWaitedFor() {
    Logger log = Logger.getLogger("dev.tidepool");
    CountDownLatch reported = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Handler slow =
        new Handler() {
          @Override
          public void publish(LogRecord entry) {
            reported.countDown();
            pass(goOn);
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    on(
        MemoryOptions.builder().diagnostics(DiagnosticsLevel.PARANOID),
        memory -> {
          UnifiedBuffer<byte[]> closed = memory.allocate(ElementType.BYTE, 3 * MEBIBYTE);
          long behind = closed.asSegment().address() + closed.byteSize();
          MemorySegment.ofAddress(behind).reinterpret(1).set(ValueLayout.JAVA_BYTE, 0, (byte) 7);
          Level before = log.getLevel();
          log.setLevel(Level.SEVERE);
          log.setUseParentHandlers(false);
          log.addHandler(slow);
          try {
            // The report of the damage keeps it from giving the memory back.
            Thread closing = Thread.ofPlatform().daemon().start(closed::close);
            pass(reported);
            Request request = increment(memory, 2 * MEBIBYTE);
            request.awaitWaiting();
            goOn.countDown();
            request.assertServed();
            closing.join();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          } finally {
            goOn.countDown();
            log.removeHandler(slow);
            log.setUseParentHandlers(true);
            log.setLevel(before);
          }
        });
  }

  @Test
  void aBufferThatIsLentForAMomentIsWaitedFor() {
    on(
        MemoryOptions.builder(),
        memory -> {
          try (UnifiedBuffer<byte[]> lent = memory.allocate(ElementType.BYTE, 3 * MEBIBYTE)) {
            Request request;
            try (NativeAccess _ = memory.lend(NativeUse.readWrite(lent))) {
              request = increment(memory, 2 * MEBIBYTE);
              request.awaitWaiting();
            }
            request.assertServed();
          }
        });
  }

  /** The time until then is no part of the second that it waits for native code. */
  @Test
  void aRequestThatWaitedLongWaitsForABufferThatIsLentThen() throws InterruptedException {
    SimulatedProvider slow = new SimulatedProvider(hardware.withBandwidth(2 * MEBIBYTE));
    MemoryOptions options = MemoryOptions.builder().pooling(false).build();
    try (Tidepool tidepool = Discovery.using(List.of(slow), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      try (UnifiedBuffer<byte[]> lent =
          memory.allocate(ElementType.BYTE, 3 * MEBIBYTE, MemoryLocation.HOST)) {
        lent.fill((byte) 1);
        CompletableFuture<NativeAccess> lending = memory.lendAsync(NativeUse.read(lent));
        await().until(() -> slow.device("simulated:0").liveBlocks() > 0);
        Request request = increment(memory, 2 * MEBIBYTE);
        try (NativeAccess _ = lending.join()) {
          Thread.sleep(300);
        }
        request.assertServed();
      }
    }
  }

  /** Otherwise requests that wait for each other's buffers would wait for the mapping, too. */
  @Test
  void aMappingThatWaitsForARequestDoesNotCountAsGoingOn() {
    on(
        MemoryOptions.builder(),
        memory -> {
          try (UnifiedBuffer<byte[]> busy = memory.allocate(ElementType.BYTE, 3 * MEBIBYTE);
              UnifiedBuffer<byte[]> x =
                  memory.allocate(ElementType.BYTE, 2 * MEBIBYTE, MemoryLocation.HOST)) {
            HeldKernel ofBusy = new HeldKernel(memory, busy);
            Request request = new Request(x::synchronize);
            request.awaitWaiting();
            Request mapping = new Request(() -> x.map(MapMode.READ).close());
            await().until(() -> MemoryWaiters.isBlocked(mapping.thread));
            ofBusy.end();
            request.assertServed();
            mapping.assertServed();
            assertThat(MemoryWaiters.isBlocked(mapping.thread)).isFalse();
          }
        });
  }

  @Test
  void whatIsExportedFromTheDeviceIsNotEvictedBeforeTheExportEnds() {
    on(MemoryOptions.builder(), this::assertStaysWhileExported);
  }

  @Test
  void whatIsExportedFromTheDeviceIsNotSpilledBeforeTheExportEnds() {
    on(
        MemoryOptions.builder().memoryLimit(4 * MEBIBYTE).spillDirectory(spilled),
        this::assertStaysWhileExported);
  }

  private void assertStaysWhileExported(UnifiedMemoryManager memory) {
    try (UnifiedBuffer<byte[]> exported = memory.allocate(ElementType.BYTE, 2 * MEBIBYTE)) {
      exported.fill((byte) 7);
      try (DLPackExport _ = DLPack.exportReadOnly(exported)) {
        assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 3 * MEBIBYTE))
            .isInstanceOf(OutOfDeviceMemoryException.class);
        assertThat(exported.state()).isEqualTo(BufferState.DEVICE_ONLY);
        assertThat(moves(memory)).isZero();
      }
      memory.allocate(ElementType.BYTE, 3 * MEBIBYTE).close();
      assertThat(moves(memory)).isOne();
      byte[] seen = new byte[2 * MEBIBYTE];
      exported.copyTo(seen);
      assertThat(seen).containsOnly(7);
    }
  }

  private static long moves(UnifiedMemoryManager memory) {
    return memory.statistics().evictions() + memory.statistics().spills();
  }

  @Test
  void theEndOfAnExportIsToldToRequestsThatWait() {
    on(
        MemoryOptions.builder(),
        memory -> {
          try (UnifiedBuffer<byte[]> exported = memory.allocate(ElementType.BYTE, MEBIBYTE)) {
            Storage storage = ((BufferHandle<?>) exported).storage();
            for (DLPackExport export :
                List.of(DLPack.exportReadOnly(exported), DLPack.exportHost(exported))) {
              memory.synchronize();
              try (MemoryWaiters.Waiter waiter =
                  storage.context().waiters().enter(storage.context().device())) {
                export.close();
                assertThat(waiter.await(0).released()).containsExactly(storage);
              }
            }
          }
        });
  }

  @Test
  void aBufferThatIsMappedForAMomentIsWaitedForWhereItCanBeSpilled() {
    on(
        MemoryOptions.builder().spillDirectory(spilled),
        memory -> {
          try (UnifiedBuffer<byte[]> mapped =
              memory.allocate(ElementType.BYTE, 3 * MEBIBYTE, MemoryLocation.UNIFIED)) {
            Request request;
            try (HostMapping _ = mapped.map(MapMode.READ_WRITE)) {
              request = increment(memory, 2 * MEBIBYTE);
              request.awaitWaiting();
            }
            request.assertServed();
          }
        });
  }

  @Test
  void bytesThatTheHostHasNoRoomForGoFromTheDeviceToTheFile() {
    // Both buffers, and the second's copy on the device, but not the first's on the host.
    on(
        MemoryOptions.builder()
            .memoryLimit(7 * MEBIBYTE + HALF)
            .spillDirectory(spilled)
            .stagingChunk(64 << 10),
        memory -> {
          try (UnifiedBuffer<byte[]> idle = memory.allocate(ElementType.BYTE, 3 * MEBIBYTE)) {
            idle.fill((byte) 7);
            increment(memory, 2 * MEBIBYTE).assertServed();
            assertThat(memory.statistics().spills()).isEqualTo(1);
            byte[] seen = new byte[3 * MEBIBYTE];
            idle.copyTo(seen);
            assertThat(seen).containsOnly(7);
          }
        });
  }

  @Test
  void noMoreGoesToTheFileThanTheBytesOfOneBufferNeedOnTheHost() {
    on(
        MemoryOptions.builder().memoryLimit(6 * MEBIBYTE + HALF).spillDirectory(spilled),
        memory -> {
          List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
          for (int i = 0; i < 6; i++) {
            MemoryLocation location = i < 2 ? MemoryLocation.HOST : MemoryLocation.DEVICE;
            buffers.add(memory.allocate(ElementType.BYTE, MEBIBYTE, location));
            buffers.getLast().fill((byte) i);
          }
          memory.allocate(ElementType.BYTE, HALF).close();
          assertThat(memory.statistics().evictions()).isEqualTo(1);
          assertThat(memory.statistics().spills()).isEqualTo(1);
          buffers.forEach(UnifiedBuffer::close);
        });
  }
}
