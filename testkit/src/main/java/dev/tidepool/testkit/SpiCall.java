package dev.tidepool.testkit;

/**
 * A call of the interface between the runtime and a backend, as a key for counters and faults.
 *
 * <p>Polls ({@code Event.isDone}, {@code Device.memory}) are omitted. Their number depends on
 * timing, and the n-th call of a scenario must be the same call in each run.
 */
public enum SpiCall {
  /** {@code Device.allocate}. */
  ALLOCATE(true),
  /** {@code Block.free}. */
  FREE(true),
  /** {@code Device.createQueue}. */
  CREATE_QUEUE(true),
  /** {@code Device.compile}. */
  COMPILE(true),
  /** {@code Queue.write}. */
  WRITE(true),
  /** {@code Queue.scatter}. */
  SCATTER(true),
  /** {@code Queue.gather}. */
  GATHER(true),
  /** {@code Queue.read}. */
  READ(true),
  /** {@code Queue.copy}. */
  COPY(true),
  /** {@code Queue.fill}. */
  FILL(true),
  /** {@code Queue.launch}. */
  LAUNCH(true),
  /** {@code Queue.acquire}. */
  ACQUIRE(true),
  /** {@code Queue.release}. */
  RELEASE(true),
  /** {@code Queue.after}. */
  AFTER(true),
  /** {@code NativeQueue.mark}. */
  MARK(true),
  /** {@code Device.adopt} of memory of the device. */
  ADOPT(true),
  /** {@code Device.lend}. */
  LEND(true),
  /** {@code Queue.finish}. */
  FINISH(false),
  /** {@code Queue.close}. */
  CLOSE_QUEUE(false),
  /** {@code Event.await}. */
  EVENT_AWAIT(true),
  /** {@code Event.close}. */
  CLOSE_EVENT(false),
  /** {@code Program.close}. */
  CLOSE_PROGRAM(false),
  /** {@code Device.enablePeer}. */
  ENABLE_PEER(true),
  /** {@code Device.disablePeer}. */
  DISABLE_PEER(true),
  /** {@code Device.close}. */
  CLOSE_DEVICE(false);

  private final boolean mayFail;

  SpiCall(boolean mayFail) {
    this.mayFail = mayFail;
  }

  /** Returns whether the contract lets the call fail; calls that release something never do. */
  public boolean mayFail() {
    return mayFail;
  }

  /** Returns whether the call submits a command to a queue and returns its event. */
  public boolean isCommand() {
    return switch (this) {
      case WRITE, SCATTER, GATHER, READ, COPY, FILL, LAUNCH, ACQUIRE, RELEASE, MARK -> true;
      default -> false;
    };
  }
}
