package dev.tidepool.runtime.context;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether a manager is open, closed or ended, and the operations that keep it from ending.
 *
 * <p>Operations that use the device outside of any buffer's queue, such as compiling or allocating,
 * enter an {@link OperationGate}. A closing manager admits no more of them, and waits for those
 * that have entered before it ends. Thread-safe.
 */
public final class ManagerState {
  private final String accelerator;
  private final OperationGate gate = new OperationGate();
  private volatile boolean closed;
  // Run after something that kept the manager has ended; null until the manager closes.
  private volatile @Nullable Runnable ending;

  ManagerState(String accelerator) {
    this.accelerator = accelerator;
  }

  /** Returns the gate that counts the operations under way. */
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

  /** Refuses further operations of users. */
  public void close() {
    closed = true;
    gate.close();
  }

  /** Sets the action that runs after something that may have kept the manager has ended. */
  public void endBy(Runnable attempt) {
    ending = attempt;
  }

  /**
   * Begins an operation of a user, which {@link #finish} ends; closing waits for it.
   *
   * @throws IllegalStateException if the manager is closed
   */
  public void begin() {
    if (!gate.enter()) {
      throw closedException();
    }
  }

  /** Ends an operation that {@link #begin} began. */
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

  /** Runs maintenance of the library, also while the manager closes, but not after it has ended. */
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

  /** Runs the action of {@link #endBy}: something that may have kept the manager has ended. */
  public void goOn() {
    Runnable attempt = ending;
    if (attempt != null) {
      attempt.run();
    }
  }
}
