package dev.tidepool.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.transfers.DeviceAccelerator;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A manager ends once, whatever else is going on; the time limits are for endless loops. */
@Timeout(120)
final class ManagerCloseTest {
  /** Not the session's, so that each manager has pools of its own. */
  private static final MemoryOptions OPTIONS =
      MemoryOptions.builder().maxPoolBytes(1L << 30).build();

  private final RuntimeSession session = RuntimeSession.discover(MemoryOptions.defaults());
  private final DeviceAccelerator cpu = (DeviceAccelerator) session.accelerators().getLast();

  @AfterEach
  void endSession() {
    session.close();
  }

  @Test
  void manyOpenBuffersAreClosedInOneGo() {
    UnifiedMemoryManager memory = session.furtherManager(cpu, OPTIONS);
    for (int i = 0; i < 20_000; i++) {
      memory.allocate(ElementType.BYTE, 100).fill((byte) 1);
    }
    memory.close();
    assertThat(session.managers()).isEmpty();
    assertThat(memory.statistics().activeBuffers()).isZero();
  }

  @Test
  void buffersOfAClosedManagerTellThatItIsClosed() {
    UnifiedMemoryManager memory = session.furtherManager(cpu, OPTIONS);
    UnifiedBuffer<byte[]> used = memory.allocate(ElementType.BYTE, 100);
    used.fill((byte) 1);
    UnifiedBuffer<byte[]> unused = memory.allocate(ElementType.BYTE, 100);
    memory.close();
    for (UnifiedBuffer<byte[]> buffer : List.of(used, unused)) {
      assertThatThrownBy(() -> buffer.copyTo(new byte[100]))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageEndingWith("is closed, and so is its memory manager; close that later");
    }
  }

  @Test
  void aManagerEndsAlthoughItsPoolsAreTrimmedMeanwhile() throws InterruptedException {
    for (int round = 0; round < 40; round++) {
      DeviceMemoryManager memory = (DeviceMemoryManager) session.furtherManager(cpu, OPTIONS);
      fillPools(memory);
      CountDownLatch started = new CountDownLatch(1);
      Thread trimmer =
          Thread.ofPlatform()
              .start(
                  () -> {
                    started.countDown();
                    memory.reclaimer().trim();
                  });
      started.await();
      memory.close();
      assertThat(session.managers()).doesNotContain(memory);
      assertThat(memory.statistics().totalPooled()).isZero();
      trimmer.join();
    }
  }

  private static void fillPools(UnifiedMemoryManager memory) {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      buffers.add(memory.allocate(ElementType.BYTE, 100_000));
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  @Test
  void noBufferSurvivesItsManagerHoweverLateItCame() throws InterruptedException {
    for (int round = 0; round < 40; round++) {
      boolean sharesPool = round % 2 == 0;
      UnifiedMemoryManager memory =
          session.furtherManager(cpu, sharesPool ? MemoryOptions.defaults() : OPTIONS);
      ConcurrentLinkedQueue<UnifiedBuffer<?>> allocated = new ConcurrentLinkedQueue<>();
      ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
      CountDownLatch started = new CountDownLatch(3);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        Thread.Builder kind = i == 0 ? Thread.ofVirtual() : Thread.ofPlatform();
        threads.add(
            kind.start(
                () -> {
                  started.countDown();
                  allocateUntilClosed(memory, allocated, failures);
                }));
      }
      started.await();
      memory.close();
      for (Thread thread : threads) {
        thread.join();
      }
      assertThat(failures)
          .hasSize(3)
          .allSatisfy(
              failure ->
                  assertThat(failure)
                      .isInstanceOf(IllegalStateException.class)
                      .hasMessageContaining("closed"));
      assertThat(allocated)
          .allSatisfy(
              buffer ->
                  assertThatThrownBy(buffer::length).isInstanceOf(IllegalStateException.class));
      assertThat(session.managers()).isEmpty();
      assertThat(memory.statistics().totalAllocated()).isZero();
      assertThat(memory.statistics().activeBuffers()).isZero();
      assertThat(memory.statistics().totalPooled()).isZero();
    }
  }

  private static void allocateUntilClosed(
      UnifiedMemoryManager memory,
      ConcurrentLinkedQueue<UnifiedBuffer<?>> allocated,
      ConcurrentLinkedQueue<Throwable> failures) {
    try {
      for (int i = 0; ; i++) {
        UnifiedBuffer<byte[]> buffer =
            memory.allocate(ElementType.BYTE, 1 << i % 17, MemoryLocation.values()[i % 4]);
        if (i % 2 == 0) {
          buffer.close();
        } else {
          allocated.add(buffer);
        }
        if (i % 3 == 0) {
          try (UnifiedBuffer<byte[]> used = memory.allocate(ElementType.BYTE, 1000)) {
            used.fill((byte) i);
          }
        }
      }
    } catch (RuntimeException e) {
      failures.add(e);
    }
  }

  @Test
  void anOpenMappingPutsTheEndOff() {
    UnifiedMemoryManager memory = session.furtherManager(cpu, OPTIONS);
    UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 100);
    memory.allocate(ElementType.BYTE, 100_000);
    try (var _ = buffer.map(MapMode.READ)) {
      memory.close();
      assertThat(session.managers()).hasSize(1);
    }
    assertThat(session.managers()).isEmpty();
    assertThat(memory.statistics().totalPooled()).isZero();
  }
}
