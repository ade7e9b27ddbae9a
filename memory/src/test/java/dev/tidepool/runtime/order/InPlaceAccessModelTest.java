package dev.tidepool.runtime.order;

import dev.tidepool.pool.ModelChecks;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;

/**
 * All ways in which copies in place begin and end, tried by a model checker: a write is alone, and
 * no thread waits for ever.
 */
public class InPlaceAccessModelTest {
  private final Object monitor = new Object();
  private final InPlaceAccess access = new UseState(monitor);
  private int number;

  /** Creates an access that allows reads and writes. */
  public InPlaceAccessModelTest() {
    access.allow(true, true);
  }

  /** A copy that changes the bytes. */
  @Operation
  public int write() {
    return written(access.enterInPlace(true));
  }

  /** The same after so many tries that the thread may wait. */
  @Operation
  public int writeLater() {
    return written(access.enterLater(true));
  }

  private int written(boolean entered) {
    if (!entered) {
      return writeInOrder();
    }
    int written = ++number;
    access.leaveInPlace(true);
    return written;
  }

  /** A copy that reads the bytes. */
  @Operation
  public int read() {
    return found(access.enterInPlace(false));
  }

  /** The same after so many tries that the thread may wait. */
  @Operation
  public int readLater() {
    return found(access.enterLater(false));
  }

  private int found(boolean entered) {
    if (!entered) {
      return readInOrder();
    }
    int found = number;
    access.leaveInPlace(false);
    return found;
  }

  /** An operation that changes the bytes: copies in place are not allowed meanwhile. */
  @Operation
  public int writeInOrder() {
    return inOrder(1);
  }

  private int readInOrder() {
    return inOrder(0);
  }

  private int inOrder(int more) {
    synchronized (monitor) {
      access.stop();
      number += more;
      int found = number;
      access.allow(true, true);
      return found;
    }
  }

  @Test
  void aWriteIsAloneAndEveryCopyEnds() {
    ModelChecks.options()
        .invocationsPerIteration(1000)
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(0)
        .check(InPlaceAccessModelTest.class);
  }

  @Test
  void everyCopyOfThreeThreadsEnds() {
    ModelChecks.options()
        .threads(3)
        .invocationsPerIteration(1000)
        .actorsPerThread(1)
        .actorsBefore(0)
        .actorsAfter(0)
        .check(InPlaceAccessModelTest.class);
  }
}
