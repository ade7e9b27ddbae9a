package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Reservation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.diagnostics.Snapshot;
import dev.tidepool.diagnostics.UnclosedReservationReport;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Jobs on a small device without a limit, of one manager and of two. */
@ExtendWith(QuietLog.class)
@Timeout(120)
class ReservationTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int FLOATS = MEBIBYTE / 4;
  private static final Duration NO_WAIT = Duration.ZERO;
  private static final Duration LONG = Duration.ofSeconds(60);

  private final SimulatedProvider simulated =
      new SimulatedProvider(SimulatedHardware.discrete().withoutUnified().withMemory(8 * MEBIBYTE));
  private final Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open());
  private final UnifiedMemoryManager memory = tidepool.memory();

  @AfterEach
  void everythingIsGivenBack() {
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.devices()).allMatch(device -> device.liveBlocks() == 0);
  }

  private static List<UnifiedBuffer<float[]>> filled(UnifiedMemoryManager manager, int count) {
    List<UnifiedBuffer<float[]>> buffers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      buffers.add(manager.allocate(ElementType.FLOAT, FLOATS));
      buffers.getLast().fill((byte) i);
    }
    return buffers;
  }

  private static long onDevice(List<? extends UnifiedBuffer<?>> buffers) {
    return buffers.stream().filter(buffer -> buffer.state() != BufferState.HOST_ONLY).count();
  }

  @Test
  void roomIsMadeByIdleBuffersAndTheirBytesAreKept() {
    List<UnifiedBuffer<float[]>> others = filled(memory, 8);
    try (Reservation job = memory.reserve("job", 5L * MEBIBYTE, NO_WAIT)) {
      assertThat(onDevice(others)).isEqualTo(3);
      // Others use what is left, however much the job leaves unused.
      others.forEach(UnifiedBuffer::prefetchToDevice);
      memory.synchronize();
      assertThat(onDevice(others)).isLessThanOrEqualTo(3);
      long evictions = memory.statistics().evictions();
      List<UnifiedBuffer<float[]>> own = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        own.add(job.allocate(ElementType.FLOAT, FLOATS));
        own.getLast().fill((byte) i);
      }
      assertThat(memory.statistics().evictions())
          .as("the job met no full device")
          .isEqualTo(evictions);
      others.forEach(UnifiedBuffer::prefetchToDevice);
      memory.synchronize();
      assertThat(onDevice(own)).as("others take nothing of the job").isEqualTo(5);
      own.forEach(UnifiedBuffer::close);
    }
    for (int i = 0; i < 8; i++) {
      byte[] seen = new byte[MEBIBYTE];
      others.get(i).as(ElementType.BYTE).copyTo(seen);
      assertThat(seen).containsOnly(i);
    }
    others.forEach(UnifiedBuffer::close);
  }

  @Test
  void thePeakOfReservedBytesStaysWhenAReservationEnds() {
    try (Reservation job = memory.reserve("job", 5L * MEBIBYTE, NO_WAIT);
        var buffer = job.allocate(ElementType.FLOAT, FLOATS)) {
      buffer.fill((byte) 1);
    }
    long peak = memory.statistics().peakReserved();
    assertThat(peak).isGreaterThanOrEqualTo(MEBIBYTE);
    for (int i = 0; i < 3; i++) {
      memory.reserve("next", 5L * MEBIBYTE, NO_WAIT).close();
      assertThat(memory.statistics().peakReserved()).isEqualTo(peak);
    }
  }

  @Test
  void whatIsOpenWhenItsManagerClosesIsReported() {
    List<DiagnosticReport> reports = new CopyOnWriteArrayList<>();
    UnifiedMemoryManager manager =
        UnifiedMemoryManager.create(
            memory.accelerator(), MemoryOptions.builder().reportListener(reports::add).build());
    manager.reserve("ended", MEBIBYTE, NO_WAIT).close();
    Reservation job = manager.reserve("job", 2L * MEBIBYTE, NO_WAIT);
    UnifiedBuffer<float[]> buffer = job.allocate(ElementType.FLOAT, FLOATS);
    assertThat(manager.snapshot().reservations())
        .containsExactly(new Snapshot.Reserved("job", 2L * MEBIBYTE, MEBIBYTE));
    assertThat(memory.snapshot().reservations()).as("of another manager").isEmpty();
    buffer.close();
    manager.close();
    assertThat(job.isOpen()).isFalse();
    assertThat(reports)
        .containsExactly(
            new UnclosedReservationReport(memory.accelerator().id(), "job", 2L * MEBIBYTE, 0));
  }

  @Test
  void aRequestThatTheDeviceRefusesTakesNothingOfTheLimit() {
    UnifiedMemoryManager limited =
        UnifiedMemoryManager.create(
            memory.accelerator(), MemoryOptions.builder().memoryLimit(8L * MEBIBYTE).build());
    Reservation job = memory.reserve("job", 6L * MEBIBYTE, NO_WAIT);
    assertThatThrownBy(() -> limited.reserve(4L * MEBIBYTE, NO_WAIT))
        .isInstanceOf(OutOfDeviceMemoryException.class);
    job.close();
    limited.reserve(8L * MEBIBYTE, NO_WAIT).close();
    limited.close();
  }

  @Test
  void whatIsJustBeingAllocatedIsNotReservedToo() {
    FaultInjector faults =
        new FaultInjector(
            new SimulatedProvider(
                SimulatedHardware.discrete()
                    .withMemory(8 * MEBIBYTE)
                    .withMaximumAllocation(8 * MEBIBYTE)));
    try (Tidepool held = Discovery.using(List.of(faults), () -> Tidepool.open())) {
      UnifiedMemoryManager manager = held.memory();
      CountDownLatch allocated = new CountDownLatch(1);
      faults.hold(SpiCall.ALLOCATE, allocated);
      CompletableFuture<UnifiedBuffer<float[]>> buffer =
          CompletableFuture.supplyAsync(
              () -> manager.allocate(ElementType.FLOAT, 4 * FLOATS),
              task -> Thread.ofPlatform().daemon().start(task));
      await().until(() -> !faults.holdsNext());
      try {
        assertThatThrownBy(() -> manager.reserve(6L * MEBIBYTE, NO_WAIT))
            .isInstanceOf(OutOfDeviceMemoryException.class);
      } finally {
        allocated.countDown();
      }
      buffer.join().close();
      manager.reserve(6L * MEBIBYTE, NO_WAIT).close();
    }
  }

  @Test
  void anotherManagerOfTheDeviceIsKeptFromWhatIsReserved() {
    UnifiedMemoryManager another =
        UnifiedMemoryManager.create(memory.accelerator(), MemoryOptions.defaults());
    Reservation job = memory.reserve("job", 6L * MEBIBYTE, NO_WAIT);
    assertThatThrownBy(() -> another.allocate(ElementType.FLOAT, 3 * FLOATS))
        .isInstanceOf(OutOfDeviceMemoryException.class)
        .hasMessageContaining("the reservation 'job' 6 MiB (0 bytes in use)");
    assertThatThrownBy(() -> another.reserve(3L * MEBIBYTE, NO_WAIT))
        .isInstanceOf(OutOfDeviceMemoryException.class)
        .hasMessageContaining("the reservation 'job' 6 MiB (0 bytes in use)");
    CompletableFuture<Reservation> waiting =
        CompletableFuture.supplyAsync(() -> another.reserve(8L * MEBIBYTE, LONG));
    job.close();
    assertThat(waiting.join().bytes()).isEqualTo(8L * MEBIBYTE);
    assertThat(memory.reservations()).isEmpty();
    assertThat(another.reservations()).hasSize(1);
    another.close();
    memory.reserve(8L * MEBIBYTE, LONG).close();
  }

  @Test
  void idleBlocksOfThePoolsAreNoObstacle() {
    filled(memory, 8).forEach(UnifiedBuffer::close);
    assertThat(memory.statistics().totalPooled()).isPositive();
    try (Reservation job = memory.reserve(8L * MEBIBYTE, LONG)) {
      assertThat(job.usedBytes()).isZero();
    }
  }

  @Test
  void manyThreadsShareTheDeviceWithoutASingleEviction() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    List<Throwable> failures = java.util.Collections.synchronizedList(new ArrayList<>());
    for (int t = 0; t < 8; t++) {
      int thread = t;
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      for (int round = 0; round < 20; round++) {
                        use(1 + (thread + round) % 4, thread);
                      }
                    } catch (Throwable e) {
                      failures.add(e);
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failures).isEmpty();
    assertThat(memory.statistics().evictions()).isZero();
  }

  private void use(int buffers, int value) {
    try (Reservation job = memory.reserve((long) buffers * MEBIBYTE, LONG)) {
      List<UnifiedBuffer<float[]>> own = new ArrayList<>();
      for (int i = 0; i < buffers; i++) {
        own.add(job.allocate(ElementType.FLOAT, FLOATS));
        own.getLast().fill((byte) value);
      }
      for (UnifiedBuffer<float[]> buffer : own) {
        byte[] seen = new byte[MEBIBYTE];
        buffer.as(ElementType.BYTE).copyTo(seen);
        assertThat(seen[value]).isEqualTo((byte) value);
        buffer.close();
      }
    }
  }

  @Test
  void aRequestThatIsCancelledGivesItsPlaceInTheQueueUp() {
    try (Reservation _ = memory.reserve("first", 6L * MEBIBYTE, NO_WAIT)) {
      CompletableFuture<Reservation> large = memory.reserveAsync("large", 4L * MEBIBYTE, LONG);
      while (isGranted(memory)) {
        Thread.onSpinWait();
      }
      assertThat(large.cancel(true)).isTrue();
      memory.reserve("small", MEBIBYTE, Duration.ofSeconds(30)).close();
    }
  }

  private static boolean isGranted(UnifiedMemoryManager manager) {
    try {
      manager.reserve("probe", MEBIBYTE, NO_WAIT).close();
      return true;
    } catch (OutOfDeviceMemoryException behindAnother) {
      return false;
    }
  }
}
