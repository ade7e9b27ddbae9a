package dev.tidepool.testkit.workload;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A buffer and the array that it must equal. The lock orders the requests of threads; requested
 * operations continue after the lock is released.
 */
final class Slot {
  final ReentrantLock lock = new ReentrantLock();
  final int index;
  @Nullable UnifiedBuffer<int[]> buffer;
  @Nullable UnifiedMemoryManager manager;
  // The memory under the buffer, if it outlives the buffer.
  @Nullable Foreign foreign;
  int[] model = new int[0];
  History history;

  Slot(int index, boolean failuresExpected) {
    this.index = index;
    history = new History(failuresExpected);
  }
}
