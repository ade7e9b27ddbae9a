package dev.tidepool.runtime.order;

import dev.tidepool.AcceleratorException;
import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.spi.support.FailureText;

/** Converts failures, to rethrow them on another thread or to show users a driver's refusal. */
public final class Exceptions {
  private Exceptions() {}

  /** Returns the failure as an unchecked exception; throws it if it is an {@code Error}. */
  public static RuntimeException unchecked(Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    return failure instanceof RuntimeException runtime
        ? runtime
        : new TidepoolException(FailureText.of(failure), failure);
  }

  /**
   * Returns the exception for a failed copy. The virtual machine throws {@link InternalError} if
   * the bytes of a mapped file vanish during a copy.
   */
  public static RuntimeException transfer(Throwable failure, String what) {
    return switch (failure) {
      case AcceleratorException e -> new TransferException(what + " failed: " + e.getMessage(), e);
      case InternalError e ->
          new TransferException(
              what + " failed: the mapped file or shared memory became shorter, or its disk failed",
              e);
      default -> unchecked(failure);
    };
  }
}
