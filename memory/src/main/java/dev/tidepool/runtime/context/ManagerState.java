package dev.tidepool.runtime.context;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether a manager is open, closed or ended, and the operations that keep it from ending.
 *
 * <p>Operations that use the device outside of any buffer's order, such as compiling or allocating,
 * pass an {@link OperationGate}. A closing manager lets no more of them in, and waits for those
 * that are inside before it ends. Thread-safe.
 */
public final class ManagerState {
  private final String accelerator;
  private final OperationGate gate = new OperationGate();
  private volatile boolean closed;
  // Ends the manager if nothing keeps it any more; null until closing has got that far.
  private volatile @Nullable Runnable ending;

  ManagerState(String accelerator) {
    this.accelerator = accelerator;
  }

  /** Counts the operations that are under way. */
  public OperationGate gate() {
    return gate;
  }

  public boolean isClosed() {
    return closed;
  }

  /**
   * Checks that the manager is open.
   *
   * @throws IllegalStateException if it is closed
   */
  public void checkOpen() {
    if (closed) {
      throw closedException();
    }
  }

  private IllegalStateException closedException() {
    return new IllegalStateException(
        "the memory manager of " + accelerator + " is closed; open another");
  }

  /** Lets no more operations of users begin. */
  public void close() {
    closed = true;
    gate.close();
  }

  /** Sets what is run by whatever may have been the last to keep the manager. */
  public void endBy(Runnable attempt) {
    ending = attempt;
  }

  /**
   * Begins an operation of a user, which ends with {@link #finish}; closing waits for that.
   *
   * @throws IllegalStateException if the manager is closed
   */
  public void begin() {
    if (!gate.enter()) {
      throw closedException();
    }
  }

  /** Ends what {@link #begin} began. */
  public void finish() {
    gate.leave();
    goOn();
  }

  /**
   * Runs an operation of a user, which closing waits for.
   *
   * @throws IllegalStateException if the manager is closed
   */
  public <T> T during(Supplier<T> operation) {
    begin();
    try {
      return operation.get();
    } finally {
      finish();
    }
  }

  /** Runs work of the library's own, also while the manager closes; not once it has ended. */
  public void beforeEnd(Runnable maintenance) {
    if (!gate.enterUntilEnd()) {
      return;
    }
    try {
      maintenance.run();
    } finally {
      finish();
    }
  }

  /** Ends the manager if it is closed and this was what it waited for. */
  public void goOn() {
    Runnable attempt = ending;
    if (attempt != null) {
      attempt.run();
    }
  }
}
