package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.Resumable;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes whose uses have an order: an {@link OrderedOperation} enters and leaves their queue.
 *
 * <p>The monitor guards the queue and the state of the bytes' users. The monitors of several
 * resources are taken in the order of their numbers.
 */
public abstract class OrderedResource extends Resumable {
  private static final AtomicLong NUMBERS = new AtomicLong();

  private final long number = NUMBERS.getAndIncrement();
  private final OperationQueue queue = new OperationQueue();
  private final UseState useState = new UseState(this);

  public final long number() {
    return number;
  }

  /** Returns the queue of the operations on it. */
  public final OperationQueue queue() {
    return queue;
  }

  /** Returns what uses or moves the bytes now. */
  public final UseState useState() {
    return useState;
  }

  /** Returns the context of the manager that the bytes belong to. */
  public abstract ResourceContext context();

  /** Returns whether even reads must run alone, because host and device use the block in turns. */
  public abstract boolean isExclusive();

  /** Checks that an operation may enter now; throws the reason if not. The monitor is held. */
  public abstract void check(ResourceAccess use, long nowNanos);

  /** Notes that an operation has entered the queue. The caller holds the monitor. */
  public abstract void entered(ResourceAccess use);

  /** Returns whether it admits operations of users. */
  public abstract boolean isOpen();

  /** Returns whether it is open and no operation is queued. The caller holds the monitor. */
  public abstract boolean isIdle();

  /** Returns a failure of an operation as users see it. */
  public abstract Throwable explained(Throwable failure);

  /** Notes that the calling thread begins to run an operation on it. */
  public abstract void operationStarted();

  /** Notes that the calling thread has run the operation. */
  public abstract void operationEnded();

  /** Returns whether its bytes are in a file. */
  public abstract boolean isSpilled();

  public abstract void provideMemory();
}
