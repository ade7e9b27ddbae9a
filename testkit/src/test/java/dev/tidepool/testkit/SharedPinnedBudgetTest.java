package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Managers share the budget of page-locked memory, and what lies idle of one serves the others. */
class SharedPinnedBudgetTest {
  private static final int BYTES = 1 << 20;
  private static final int BUDGET = 2 * BYTES;
  private static final int ROUNDS = 100;

  private final SimulatedProvider provider =
      new SimulatedProvider(
          SimulatedHardware.discrete(), SimulatedHardware.discrete(), SimulatedHardware.discrete());
  private final Tidepool tidepool =
      Discovery.using(
          List.of(provider),
          () -> Tidepool.open(MemoryOptions.builder().pinnedLimit(BUDGET).build()));

  private UnifiedMemoryManager memory(int device) {
    return tidepool.memory(tidepool.accelerators().get(device));
  }

  private long frees(int device) {
    SimulatedDevice simulated = provider.devices().get(device);
    return simulated.ledger().calls(SpiCall.FREE);
  }

  private static UnifiedBuffer<byte[]> pinned(UnifiedMemoryManager memory, int bytes) {
    return memory.allocate(ElementType.BYTE, bytes, MemoryLocation.PINNED);
  }

  @AfterEach
  void everythingGoesBack() {
    tidepool.close();
    assertThat(provider.violations()).isEmpty();
    assertThat(provider.devices()).allSatisfy(device -> assertThat(device.liveBlocks()).isZero());
  }

  @Test
  void whatLiesIdleOfOneManagerMakesRoomForAPinnedBufferOfAnother() {
    pinned(memory(0), BUDGET).close();
    try (UnifiedBuffer<byte[]> buffer = pinned(memory(1), BUDGET)) {
      byte[] written = new byte[BUDGET];
      written[BUDGET - 1] = 7;
      buffer.copyFrom(written);
      buffer.prefetchToDevice();
      byte[] read = new byte[BUDGET];
      buffer.copyTo(read);
      assertThat(read).isEqualTo(written);
      assertThat(memory(1).statistics().pinnedFallbacks()).isZero();
      assertThat(memory(1).statistics().pinnedBytes()).isEqualTo(BUDGET);
      assertThat(memory(0).statistics().totalPooled()).isZero();
      memory(1).synchronize(); // the prefetch may still be on its way out
    }
    pinned(memory(0), BUDGET).close();
    assertThat(memory(0).statistics().pinnedFallbacks()).isZero();
  }

  @Test
  void theOldestGoesFirstAndNoMoreThanMustGo() {
    pinned(memory(1), BYTES).close();
    pinned(memory(0), BYTES).close();
    try (UnifiedBuffer<byte[]> _ = pinned(memory(2), BYTES)) {
      assertThat(memory(2).statistics().pinnedFallbacks()).isZero();
      assertThat(frees(1)).isEqualTo(1);
      assertThat(frees(0)).isZero();
    }
  }

  @Test
  void whatIsInUseStaysAndSoDoesWhatWouldNotBeEnough() {
    pinned(memory(0), BYTES).close();
    try (UnifiedBuffer<byte[]> _ = pinned(memory(1), BYTES);
        UnifiedBuffer<byte[]> _ = pinned(memory(2), BUDGET)) {
      assertThat(memory(2).statistics().pinnedFallbacks()).isEqualTo(1);
      assertThat(memory(2).statistics().pinnedBytes()).isEqualTo(BUDGET);
      assertThat(frees(0) + frees(1)).isZero();
    }
  }

  @Test
  void plainBlocksThatStandInForPageLockedOnesStayAndCountForNothing() {
    try (UnifiedBuffer<byte[]> _ = pinned(memory(0), BUDGET)) {
      pinned(memory(1), BYTES).close();
      pinned(memory(2), BYTES).close();
      assertThat(memory(1).statistics().totalPooled()).isEqualTo(BYTES);
    }
  }

  @Test
  void pageLockedBlocksStayWherePlainOnesOnlyMakeItSeemEnough() {
    pinned(memory(1), BYTES).close();
    try (UnifiedBuffer<byte[]> _ = pinned(memory(0), BYTES)) {
      pinned(memory(2), BUDGET).close();
      pinned(memory(0), BUDGET).close();
      assertThat(memory(1).statistics().totalPooled()).isEqualTo(BYTES);
    }
  }

  @Test
  void wrappingOnADeviceThatCannotLockFreesNothing() {
    pinned(memory(1), BUDGET).close();
    try (Arena arena = Arena.ofShared();
        UnifiedBuffer<byte[]> _ =
            memory(3).wrap(ElementType.BYTE, arena.allocate(BUDGET), MemoryLocation.PINNED)) {
      assertThat(memory(1).statistics().totalPooled()).isEqualTo(BUDGET);
    }
  }

  /** Two of three have a pinned buffer at a time, and managers that end are in the way of none. */
  @Test
  void managersThatTakeTurnsNeitherBlockEachOtherNorExceedTheBudget() throws Exception {
    try (ExecutorService threads = Executors.newThreadPerTaskExecutor(Thread::new)) {
      List<Future<Long>> taking = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        int device = i;
        taking.add(threads.submit((Callable<Long>) () -> mostPinned(device)));
      }
      for (Future<Long> most : taking) {
        assertThat(most.get()).isBetween(1L, (long) BUDGET);
      }
    }
  }

  private long mostPinned(int device) {
    long most = 0;
    for (int round = 0; round < ROUNDS; round++) {
      try (UnifiedMemoryManager memory =
              UnifiedMemoryManager.create(
                  tidepool.accelerators().get(device), MemoryOptions.defaults());
          UnifiedBuffer<byte[]> buffer = pinned(memory, BYTES)) {
        buffer.copyFrom(new byte[] {(byte) round});
        most = Math.max(most, memory.statistics().pinnedBytes());
      }
    }
    return most;
  }
}
