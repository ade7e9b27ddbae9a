package dev.tidepool.runtime.supply;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class GuardedBlockTest {
  /** A block that shows what was in it when it was freed. */
  private record Plain(byte[] atTheEnd, long byteSize, HostAccess hostAccess, MemorySegment memory)
      implements Block {
    @Override
    public @Nullable MemorySegment segment() {
      return hostAccess == HostAccess.NONE ? null : memory;
    }

    @Override
    public void free() {
      MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, 0, atTheEnd, 0, (int) byteSize);
    }
  }

  private final List<Plain> given = new ArrayList<>();

  private MemoryPool.Source source(HostAccess access) {
    return (bytes, alignment) -> {
      MemorySegment memory = Arena.ofAuto().allocate(bytes, 4096);
      given.add(new Plain(new byte[(int) bytes], bytes, access, memory));
      return given.getLast();
    };
  }

  @Test
  void whatWasInABlockIsOverwrittenBeforeItGoesBack() {
    Block block = new GuardedSource(source(HostAccess.DIRECT), 1 << 20).allocate(100, 64);
    assertThat(block.byteSize()).isEqualTo(100);
    block.segment().fill((byte) 42);
    long start = block.start();
    block.free();
    byte[] end = given.getFirst().atTheEnd();
    for (int i = 0; i < end.length; i++) {
      boolean within = i >= start && i < start + 100;
      assertThat(end[i]).isEqualTo((byte) (within ? 0xDD : 0xFD));
    }
  }

  @Test
  void aBlockThatCannotBeOverwrittenGoesBackAllTheSame() {
    AtomicInteger freed = new AtomicInteger();
    Arena arena = Arena.ofShared();
    MemorySegment memory = arena.allocate(4096);
    Block whole =
        new Block() {
          @Override
          public long byteSize() {
            return memory.byteSize();
          }

          @Override
          public HostAccess hostAccess() {
            return HostAccess.DIRECT;
          }

          @Override
          public MemorySegment segment() {
            return memory;
          }

          @Override
          public void free() {
            freed.incrementAndGet();
          }
        };
    Block block = new GuardedBlock(whole, GuardedBlock.ZONE, 100);
    arena.close();
    assertThatIllegalStateException().isThrownBy(block::free);
    assertThat(freed).hasValue(1);
  }

  @Test
  void memoryThatTheHostDoesNotAlwaysReachHasNoZones() {
    for (HostAccess access : List.of(HostAccess.NONE, HostAccess.MAPPED)) {
      Block block = new GuardedSource(source(access), 1 << 20).allocate(100, 64);
      assertThat(block).isSameAs(given.getLast());
    }
  }

  @Test
  void theLargestBlockOfADeviceHasNoZonesForThereIsNoRoom() {
    Block block = new GuardedSource(source(HostAccess.DIRECT), 1000).allocate(1000, 64);
    assertThat(block).isSameAs(given.getFirst());
    assertThat(block.byteSize()).isEqualTo(1000);
  }
}
