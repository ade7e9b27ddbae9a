package dev.tidepool.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.host.HostBlock;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A kernel over memory that its owner ends meanwhile fails, and the process lives on. */
class EndingMemoryTest {
  private static final int LENGTH = 1 << 20;

  static void touch(WorkItem item, int rounds, int[] x) {
    x[0] = 1;
    int sum = 0;
    for (int r = 0; r < rounds; r++) {
      int at = 1 + (sum + r & 0xFFFF);
      sum = sum * 31 + x[at];
      x[at] = sum;
    }
  }

  /** Memory of this library that was wrapped is no longer than its owner wants, as all other. */
  @Test
  void allocatedMemoryOfAnotherOwner() {
    HostBlock block = new MemoryAllocator().allocate(HostRequest.of(4L * LENGTH));
    assertEnds(block.segment().fill((byte) 0), block::free);
  }

  @Test
  void memoryOfAnArena() {
    Arena arena = Arena.ofShared();
    assertEnds(arena.allocate(4L * LENGTH, 64), arena::close);
  }

  private static void assertEnds(MemorySegment memory, Runnable end) {
    try (UnifiedMemoryManager manager = UnifiedMemoryManager.create("cpu:0");
        Kernel kernel = manager.compile(KernelSource.method(MethodHandles.lookup(), "touch"))) {
      UnifiedBuffer<int[]> x = manager.wrap(ElementType.INT, memory);
      CompletableFuture<?> launch =
          kernel.executeAsync(Arguments.of("rounds", Integer.MAX_VALUE, "x", x), LaunchRange.of(1));
      while (memory.get(ValueLayout.JAVA_INT, 0) == 0) {
        Thread.onSpinWait();
      }
      end.run();
      assertThatThrownBy(launch::join).hasRootCauseInstanceOf(IllegalStateException.class);
      assertThat(launch).isCompletedExceptionally();
      x.close();
    }
  }
}
