package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ForeignMemoryTest {
  private final MemoryAllocator allocator = new MemoryAllocator();

  @Test
  void wrappedMemoryOutlivesItsBlock() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(1000, 64);
      HostBlock block = allocator.wrap(memory);
      MemoryAllocatorTest.writePattern(block.segment(), 1);
      MemoryAllocatorTest.assertPattern(memory, 1);
      assertThat(allocator.statistics().wrapped()).isEqualTo(new UsageCounter(1, 1000, 1000, 1));
      assertThat(allocator.statistics().allocated().totalBlocks()).isZero();
      block.free();
      assertThat(allocator.statistics().wrapped()).isEqualTo(new UsageCounter(0, 0, 1000, 1));
      MemoryAllocatorTest.assertPattern(memory, 1);
      assertThatIllegalStateException().isThrownBy(block::free);
    }
  }

  @Test
  void aWrappedBlockFailsOnceItsOwnerHasEndedTheMemory() {
    Arena arena = Arena.ofShared();
    HostBlock block = allocator.wrap(arena.allocate(100));
    arena.close();
    assertThatIllegalStateException().isThrownBy(() -> block.segment().get(JAVA_BYTE, 0));
    block.free();
  }

  @Test
  void adoptedMemoryIsReleasedOnceWhicheverThreadFreesIt() throws Exception {
    Arena arena = Arena.ofShared();
    AtomicInteger released = new AtomicInteger();
    HostBlock block =
        allocator.adopt(
            arena.allocate(100),
            () -> {
              released.incrementAndGet();
              arena.close();
            });
    AtomicInteger refused = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      block.free();
                    } catch (IllegalStateException e) {
                      refused.incrementAndGet();
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(released).hasValue(1);
    assertThat(refused).hasValue(7);
    assertThatIllegalStateException().isThrownBy(() -> block.segment().get(JAVA_BYTE, 0));
    assertThat(allocator.statistics().wrapped().blocks()).isZero();
  }

  @Test
  void theSegmentOfMemoryThatNothingElseEndsIsEndedBeforeTheRelease() {
    HostBlock owner = allocator.allocate(100);
    MemorySegment address = MemorySegment.ofAddress(owner.segment().address()).reinterpret(100);
    List<Boolean> aliveAtRelease = new ArrayList<>();
    HostBlock[] adopted = new HostBlock[1];
    adopted[0] =
        allocator.adopt(
            address,
            () -> {
              aliveAtRelease.add(adopted[0].segment().scope().isAlive());
              owner.free();
            });
    adopted[0].segment().set(JAVA_BYTE, 99, (byte) 9);
    assertThat(owner.segment().get(JAVA_BYTE, 99)).isEqualTo((byte) 9);
    adopted[0].free();
    assertThat(aliveAtRelease).containsExactly(false);
    assertThatIllegalStateException().isThrownBy(() -> adopted[0].segment().get(JAVA_BYTE, 99));
  }

  @Test
  void aReleaseThatThrowsIsLoggedAndTheBlockIsGone() {
    HostBlock block =
        allocator.adopt(
            Arena.global().allocate(10),
            () -> {
              throw new RuntimeException("on purpose", null, false, false) {};
            });
    block.free();
    assertThat(allocator.statistics().wrapped().blocks()).isZero();
  }

  @Test
  void memoryThatOthersCannotUseIsRefusedAndStaysTheCallers() {
    AtomicInteger released = new AtomicInteger();
    try (Arena confined = Arena.ofConfined()) {
      for (MemorySegment memory :
          List.of(
              confined.allocate(10),
              MemorySegment.ofArray(new byte[10]),
              Arena.global().allocate(10).asReadOnly())) {
        assertThatIllegalArgumentException().isThrownBy(() -> allocator.wrap(memory));
        assertThatIllegalArgumentException()
            .isThrownBy(() -> allocator.adopt(memory, released::incrementAndGet))
            .withMessageContaining("Arena.ofShared()");
      }
    }
    assertThat(released).hasValue(0);
    assertThat(allocator.statistics().wrapped().totalBlocks()).isZero();
  }
}
