package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.Resumable;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes whose uses have an order: what {@link OrderedOperation} enters and leaves.
 *
 * <p>Its monitor guards the order of operations and the state of the bytes' users. The monitors of
 * several are taken in the order of their numbers.
 */
public abstract class OrderedResource extends Resumable {
  private static final AtomicLong NUMBERS = new AtomicLong();

  private final long number = NUMBERS.getAndIncrement();
  private final OperationQueue queue = new OperationQueue();
  private final UseState useState = new UseState(this);

  public final long number() {
    return number;
  }

  /** Returns the order of its work. */
  public final OperationQueue queue() {
    return queue;
  }

  /** Returns what uses or moves the bytes now. */
  public final UseState useState() {
    return useState;
  }

  /** Returns what knows of the device that the bytes are for. */
  public abstract ResourceContext context();

  /**
   * Returns whether even reads must be alone, because host and device may take the block in turn.
   */
  public abstract boolean isExclusive();

  /** Admits an operation that is asked for now, or throws why not; the monitor is held. */
  public abstract void check(ResourceAccess use, long nowNanos);

  /** Work that it let in has its place in the order; the monitor is held. */
  public abstract void entered(ResourceAccess use);

  /** Returns whether it takes work that a user asks for. */
  public abstract boolean isOpen();

  /** Returns whether it is open and nothing is asked of it; the monitor is held. */
  public abstract boolean isIdle();

  /** Returns what users see of a failure of work on it. */
  public abstract Throwable explained(Throwable failure);

  /** The calling thread runs work on it. */
  public abstract void operationStarted();

  /** The calling thread has run the work. */
  public abstract void operationEnded();

  /** Returns whether its bytes are in a file. */
  public abstract boolean isSpilled();

  public abstract void provideMemory();
}
