package dev.tidepool.pool.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.HostAccess;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A full heap does not keep a block from being given back: that needs no memory. */
class GivingBackTest {
  private static final int BLOCKS = 600;
  private static final int MANY_BITMAPS = 64 * 40;
  private static final int ROUNDS = 20;

  /** What this thread has allocated on the heap so far; reading it allocates nothing. */
  private interface Heap {
    long allocated();
  }

  private static Heap heap() {
    try {
      Class<?> type = Class.forName("com.sun.management.ThreadMXBean");
      MethodHandle read =
          MethodHandles.publicLookup()
              .findVirtual(
                  type, "getCurrentThreadAllocatedBytes", MethodType.methodType(long.class))
              .asType(MethodType.methodType(long.class, ThreadMXBean.class));
      ThreadMXBean threads = ManagementFactory.getThreadMXBean();
      return () -> {
        try {
          return (long) read.invokeExact(threads);
        } catch (Throwable e) {
          throw new AssertionError(e);
        }
      };
    } catch (ReflectiveOperationException e) {
      return abort("this Java does not tell what a thread allocates: " + e);
    }
  }

  /** As a thread does that frees blocks while other places come free. */
  @Test
  void leavingTheListTakesNothingOfTheHeap() {
    Heap heap = heap();
    PooledBlock[] blocks = new PooledBlock[MANY_BITMAPS];
    long least = Long.MAX_VALUE;
    for (int round = 0; round < ROUNDS; round++) {
      SharedFreeList list = new SharedFreeList(true);
      for (int i = 0; i < blocks.length; i++) {
        blocks[i] = new PooledBlock(Owners.NO_POOL, new BareBlock(), 1, 0, null);
        list.settle(blocks[i]);
      }
      long before = heap.allocated();
      for (PooledBlock block : blocks) {
        list.vacate(block.bitmap(), block);
      }
      least = Math.min(least, heap.allocated() - before);
    }
    assertThat(least).isZero();
  }

  /** With room for all, for some, and for none; as blocks of their own, and as parts of slabs. */
  @ParameterizedTest
  @CsvSource({
    "1073741824, MAPPED", "1048576, MAPPED", "0, MAPPED",
    "1073741824, DIRECT", "1048576, DIRECT", "0, DIRECT"
  })
  void takesNothingOfTheHeap(long cap, HostAccess access) {
    CountedBlock.Memory memory = new CountedBlock.Memory();
    memory.access = access;
    MemoryPool pool =
        new MemoryPool(
            "test", memory, new PoolLimits(true, cap, cap, 0, EvictionPolicy.LRU, false));
    Heap heap = heap();
    Lease[] leases = new Lease[BLOCKS];
    long least = Long.MAX_VALUE;
    // What is used for the first time is loaded and linked then, which takes memory.
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < BLOCKS; i++) {
        leases[i] = pool.acquire(1 + i * 151L % 20_000, 1);
      }
      long before = heap.allocated();
      for (Lease lease : leases) {
        lease.release();
      }
      least = Math.min(least, heap.allocated() - before);
    }
    assertThat(least).isZero();
    pool.close();
    assertThat(memory.live).hasValue(0);
  }
}
