package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Reservation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs that share a device reserve the memory that they need. */
public abstract class ReservationConformance extends Topic {
  private static final Duration NO_WAIT = Duration.ZERO;
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final int FLOATS = 1 << 16;
  private static final long BYTES = 4L * FLOATS;

  @TempDir Path directory;

  /** Returns a manager whose limit is a number of buffers. */
  private UnifiedMemoryManager limited(int buffers) {
    return bench()
        .manager(
            bench().accelerator(), MemoryOptions.builder().memoryLimit(buffers * BYTES).build());
  }

  private static UnifiedBuffer<float[]> one(UnifiedMemoryManager manager) {
    return manager.allocate(ElementType.FLOAT, FLOATS);
  }

  private static UnifiedBuffer<float[]> one(Reservation reservation) {
    return reservation.allocate(ElementType.FLOAT, FLOATS);
  }

  private static void closeAll(List<? extends UnifiedBuffer<?>> buffers) {
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void buffersCountAgainstTheirReservation() {
    UnifiedMemoryManager manager = limited(8);
    try (Reservation job = manager.reserve("job", 3 * BYTES, NO_WAIT)) {
      assertThat(job.name()).isEqualTo("job");
      assertThat(job.bytes()).isEqualTo(3 * BYTES);
      assertThat(job.isOpen()).isTrue();
      assertThat(job.manager()).isSameAs(manager);
      assertThat(manager.reservations()).containsExactly(job);
      UnifiedBuffer<float[]> one = one(job);
      Allocation within = Allocation.at(MemoryLocation.DEVICE).within(job).zeroed().tag("two");
      UnifiedBuffer<float[]> two = manager.allocate(ElementType.FLOAT, FLOATS, within);
      assertThat(job.usedBytes()).isEqualTo(2 * BYTES);
      one.copyFrom(pattern(FLOATS, 1));
      Patterns.assertEqual(contents(one), pattern(FLOATS, 1), "the first buffer");
      Patterns.assertEqual(contents(two), new float[FLOATS], "the second buffer");
      one.close();
      two.close();
      eventually("they are freed", () -> job.usedBytes() == 0);
    }
    assertThat(manager.reservations()).isEmpty();
  }

  @Test
  void bytesAreCountedExactly() {
    UnifiedMemoryManager manager = limited(8);
    int floats = 12_345;
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    try (Reservation job = manager.reserve(20 * 4L * floats, NO_WAIT)) {
      for (int i = 0; i < 20; i++) {
        buffers.add(job.allocate(ElementType.FLOAT, floats));
      }
      assertThat(job.usedBytes()).isEqualTo(job.bytes());
      closeAll(buffers);
      eventually("they are freed", () -> job.usedBytes() == 0);
      assertThatThrownBy(() -> job.allocate(ElementType.BYTE, job.bytes() + 1))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      job.allocate(ElementType.BYTE, job.bytes()).close();
    }
  }

  @Test
  void aBlockThatABufferGaveBackServesTheNextOne() {
    UnifiedMemoryManager manager = limited(8);
    try (Reservation job = manager.reserve(2 * BYTES, NO_WAIT)) {
      one(job).close();
      long misses = manager.statistics().poolMisses();
      for (int i = 0; i < 10; i++) {
        try (UnifiedBuffer<float[]> next = one(job)) {
          assertThat(next.length()).isEqualTo(FLOATS);
        }
      }
      assertThat(manager.statistics().poolMisses()).isEqualTo(misses);
      // An idle block of another size does not matter.
      job.allocate(ElementType.FLOAT, 2 * FLOATS).close();
      assertThat(job.usedBytes()).isZero();
    }
  }

  @Test
  void whatIsReservedAndUnusedIsKeptFromOthers() {
    UnifiedMemoryManager manager = limited(8);
    List<UnifiedBuffer<float[]>> others = new ArrayList<>();
    try (Reservation job = manager.reserve("job", 5 * BYTES, NO_WAIT)) {
      for (int i = 0; i < 3; i++) {
        others.add(one(manager));
      }
      assertThatThrownBy(() -> one(manager))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("the reservation 'job'");
      List<UnifiedBuffer<float[]>> own = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        own.add(one(job));
        own.getLast().copyFrom(pattern(FLOATS, i));
      }
      for (int i = 0; i < 5; i++) {
        Patterns.assertEqual(contents(own.get(i)), pattern(FLOATS, i), "buffer " + i);
      }
      closeAll(own);
    }
    for (int i = 0; i < 5; i++) {
      others.add(one(manager));
    }
    closeAll(others);
  }

  @Test
  void aRequestBeyondTheReservationFailsAndTakesNothingFromOthers() {
    UnifiedMemoryManager manager = limited(8);
    try (UnifiedBuffer<float[]> other = one(manager);
        Reservation job = manager.reserve("job", 2 * BYTES, NO_WAIT);
        UnifiedBuffer<float[]> own = one(job)) {
      other.copyFrom(pattern(FLOATS, 1));
      own.copyFrom(pattern(FLOATS, 2));
      assertThatThrownBy(() -> job.allocate(ElementType.FLOAT, 3 * FLOATS))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("the reservation 'job' of 512 KiB leaves");
      Patterns.assertEqual(contents(other), pattern(FLOATS, 1), "the buffer of others");
      Patterns.assertEqual(contents(own), pattern(FLOATS, 2), "the buffer within");
    }
  }

  @Test
  void aFullReservationMakesRoomByItsOwnIdleBuffers() {
    UnifiedMemoryManager manager =
        bench()
            .manager(
                bench().accelerator(),
                MemoryOptions.builder().memoryLimit(20 * BYTES).spillDirectory(directory).build());
    UnifiedBuffer<float[]> other = one(manager);
    other.copyFrom(pattern(FLOATS, 100));
    BufferState before = other.state();
    List<UnifiedBuffer<float[]>> own = new ArrayList<>();
    try (Reservation job = manager.reserve(3 * BYTES, NO_WAIT)) {
      for (int i = 0; i < 6; i++) {
        own.add(one(job));
        own.getLast().copyFrom(pattern(FLOATS, i));
        assertThat(job.usedBytes()).isLessThanOrEqualTo(3 * BYTES);
      }
      for (int i = 0; i < 6; i++) {
        own.get(i).prefetchToDevice();
        Patterns.assertEqual(contents(own.get(i)), pattern(FLOATS, i), "buffer " + i);
        assertThat(job.usedBytes()).isLessThanOrEqualTo(3 * BYTES);
      }
      closeAll(own);
    }
    assertThat(other.state()).isEqualTo(before);
    Patterns.assertEqual(contents(other), pattern(FLOATS, 100), "the buffer of others");
    other.close();
  }

  @Test
  void theDevicesCopyOfAHostBufferCounts() {
    bench().assumeCompiler();
    UnifiedMemoryManager manager = limited(8);
    try (Reservation job = manager.reserve(2 * BYTES, NO_WAIT);
        Kernel kernel = manager.compile(KernelSource.elementwise("y = y + 1"));
        UnifiedBuffer<float[]> buffer =
            manager.allocate(
                ElementType.FLOAT, FLOATS, Allocation.at(MemoryLocation.HOST).within(job))) {
      assertThat(job.usedBytes()).isEqualTo(bench().sharesMemory() ? BYTES : 0);
      buffer.copyFrom(new float[FLOATS]);
      kernel.execute(Arguments.of("y", buffer));
      assertThat(job.usedBytes()).isEqualTo(BYTES);
      assertThat(contents(buffer)[FLOATS - 1]).isEqualTo(1);
    }
  }

  @Test
  void buffersOutliveTheCloseOfTheirReservation() {
    bench().assumeCompiler();
    UnifiedMemoryManager manager = limited(4);
    Reservation job = manager.reserve("job", 4 * BYTES, NO_WAIT);
    UnifiedBuffer<float[]> buffer = one(job);
    buffer.copyFrom(new float[FLOATS]);
    job.close();
    job.close();
    assertThat(job.isOpen()).isFalse();
    try (Kernel kernel = manager.compile(KernelSource.elementwise("y = y + 1"))) {
      kernel.execute(Arguments.of("y", buffer));
      assertThat(contents(buffer)[7]).isEqualTo(1);
    }
    assertThatThrownBy(() -> one(job))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("the reservation 'job' is closed");
    try (Reservation next = manager.reserve(3 * BYTES, NO_WAIT)) {
      assertThatThrownBy(() -> manager.reserve(BYTES, NO_WAIT))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      assertThat(next.usedBytes()).isZero();
    }
    buffer.close();
    manager.reserve(4 * BYTES, LONG).close();
  }

  @Test
  void aTimeoutSaysWhoHoldsWhat() {
    UnifiedMemoryManager manager = limited(8);
    try (Reservation job = manager.reserve("job", 6 * BYTES, NO_WAIT);
        UnifiedBuffer<float[]> own = one(job);
        UnifiedBuffer<float[]> other =
            manager.allocate(
                ElementType.FLOAT, FLOATS, Allocation.at(MemoryLocation.DEVICE).tag("other"))) {
      assertThat(own.length()).isEqualTo(other.length());
      for (Duration timeout : List.of(NO_WAIT, Duration.ofMillis(20))) {
        assertThatThrownBy(() -> manager.reserve(2 * BYTES, timeout))
            .isInstanceOf(OutOfDeviceMemoryException.class)
            .hasMessageContaining("could not reserve 512 KiB")
            .hasMessageContaining(timeout.isZero() ? "within 0 s:" : "within 0.02 s:")
            .hasMessageContaining("the reservation 'job' 1.5 MiB (256 KiB in use)")
            .hasMessageContaining("'other' 256 KiB");
      }
      manager.reserve(BYTES, NO_WAIT).close();
    }
  }

  @Test
  void aReservationWaitsUntilOthersClose() {
    UnifiedMemoryManager manager = limited(4);
    Reservation first = manager.reserve(3 * BYTES, NO_WAIT);
    UnifiedBuffer<float[]> buffer = one(manager);
    CompletableFuture<Reservation> waiting =
        CompletableFuture.supplyAsync(() -> manager.reserve(4 * BYTES, LONG), Topic::inThread);
    first.close();
    buffer.close();
    waiting.join().close();
  }

  @Test
  void whoAskedFirstIsServedFirst() throws InterruptedException {
    UnifiedMemoryManager manager = limited(4);
    // What it leaves is enough for all but the first that waits.
    Reservation first = manager.reserve(3 * BYTES, NO_WAIT);
    List<Integer> served = Collections.synchronizedList(new ArrayList<>());
    List<Thread> waiting = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      int number = i;
      // The first reservation needs all memory, so that the later ones could overtake it.
      long bytes = i == 0 ? 4 * BYTES : BYTES;
      waiting.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try (Reservation mine = manager.reserve(bytes, LONG)) {
                      served.add(number);
                      assertThat(mine.isOpen()).isTrue();
                    }
                  }));
      eventually("it waits", () -> waiting.get(number).getState() == Thread.State.TIMED_WAITING);
    }
    assertThatThrownBy(() -> manager.reserve(BYTES, NO_WAIT))
        .isInstanceOf(OutOfDeviceMemoryException.class)
        .hasMessageContaining("behind requests that wait longer");
    assertThatThrownBy(() -> manager.reserve(5 * BYTES, NO_WAIT))
        .isInstanceOf(OutOfDeviceMemoryException.class)
        .hasMessageContaining("reserve less");
    first.close();
    for (Thread thread : waiting) {
      thread.join();
    }
    assertThat(served).hasSize(4);
    assertThat(served.getFirst()).isZero();
  }

  @Test
  void aManagerThatClosesEndsTheWaitAndTheReservations() {
    UnifiedMemoryManager manager = limited(4);
    Reservation first = manager.reserve(4 * BYTES, NO_WAIT);
    CompletableFuture<Reservation> waiting =
        CompletableFuture.supplyAsync(() -> manager.reserve(BYTES, LONG), Topic::inThread);
    manager.close();
    assertThatThrownBy(waiting::join)
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    assertThat(first.isOpen()).isFalse();
    assertThatThrownBy(() -> manager.reserve(1, NO_WAIT)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(manager::reservations).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void anInterruptEndsNoWaitAndStaysSet() throws InterruptedException {
    UnifiedMemoryManager manager = limited(4);
    Reservation first = manager.reserve(4 * BYTES, NO_WAIT);
    AtomicReference<Boolean> interrupted = new AtomicReference<>(false);
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  Thread.currentThread().interrupt();
                  manager.reserve(BYTES, LONG).close();
                  interrupted.set(Thread.currentThread().isInterrupted());
                });
    first.close();
    thread.join();
    assertThat(interrupted.get()).isTrue();
  }

  @Test
  void badRequestsAreRefused() {
    UnifiedMemoryManager manager = limited(4);
    UnifiedMemoryManager another = limited(4);
    assertThatThrownBy(() -> manager.reserve(0, NO_WAIT))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("1 or more");
    assertThatThrownBy(() -> manager.reserve(1, Duration.ofNanos(-1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("timeout");
    assertThatThrownBy(() -> manager.reserve(4 * BYTES + 1, LONG))
        .isInstanceOf(OutOfDeviceMemoryException.class)
        .hasMessageContaining("reserve less");
    assertThatThrownBy(() -> bench().memory().reserve(Long.MAX_VALUE, LONG))
        .isInstanceOf(OutOfDeviceMemoryException.class)
        .hasMessageContaining("reserve less");
    try (Reservation job = manager.reserve(BYTES, Duration.ofSeconds(Long.MAX_VALUE))) {
      Allocation within = Allocation.at(MemoryLocation.DEVICE).within(job);
      assertThatThrownBy(() -> another.allocate(ElementType.FLOAT, 1, within))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another manager");
    }
  }

  @Test
  void threadsThatReserveAllocateAndCloseNeverMeetTheEndOfMemory() {
    UnifiedMemoryManager manager = limited(8);
    inThreads(
        6,
        thread -> {
          for (int round = 0; round < 30; round++) {
            int buffers = 1 + (thread + round) % 3;
            List<UnifiedBuffer<float[]>> own = new ArrayList<>();
            try (Reservation job = manager.reserve("job " + thread, buffers * BYTES, LONG)) {
              for (int i = 0; i < buffers; i++) {
                own.add(one(job));
                own.getLast().copyFrom(pattern(FLOATS, thread + i));
              }
              for (int i = 0; i < buffers; i++) {
                Patterns.assertEqual(contents(own.get(i)), pattern(FLOATS, thread + i), "of a job");
              }
              if (round % 2 == 0) {
                closeAll(own);
              }
            }
            closeAll(own);
          }
        });
    assertThat(manager.reservations()).isEmpty();
    manager.reserve(8 * BYTES, LONG).close();
  }

  @Test
  void aReservationIsSuspendedWithItsManager() {
    UnifiedMemoryManager manager =
        bench()
            .manager(
                bench().accelerator(), MemoryOptions.builder().spillDirectory(directory).build());
    try (Reservation job = manager.reserve(2 * BYTES, NO_WAIT);
        UnifiedBuffer<float[]> buffer = one(job)) {
      buffer.copyFrom(pattern(FLOATS, 1));
      one(job).close();
      assertThat(manager.suspend().returnedBytes()).isGreaterThanOrEqualTo(2 * BYTES);
      assertThat(job.usedBytes()).isZero();
      manager.resume();
      assertThat(job.usedBytes()).isEqualTo(BYTES);
      Patterns.assertEqual(contents(buffer), pattern(FLOATS, 1), "after both");
    }
  }
}
