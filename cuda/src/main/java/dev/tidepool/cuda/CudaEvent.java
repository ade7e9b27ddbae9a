package dev.tidepool.cuda;

import dev.tidepool.spi.Event;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.UseCount;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The end of a command.
 *
 * <p>Counts its users, so that closing it while another thread waits gives the driver's event back
 * after that wait and not under it. An event goes back to its pool when its command has ended; one
 * that is closed before is destroyed, which the driver does at that end.
 */
final class CudaEvent implements Event {
  // About as long as the driver takes to wake a thread that sleeps in it (35 us on an H200): a wait
  // then takes at most twice the time of the better way.
  private static final long SPIN_NANOS =
      Runtime.getRuntime().availableProcessors() > 1 ? 50_000 : 0;

  private final Context context;
  private final EventPool pool;
  private final String command;
  private final long event;
  private final long stream;
  private final UseCount users = new UseCount("an event");
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile boolean ended;

  /**
   * Takes over an event that was recorded behind a command.
   *
   * @param command the function that submitted it
   * @param stream where it was recorded
   */
  CudaEvent(Context context, EventPool pool, String command, long event, long stream) {
    this.context = context;
    this.pool = pool;
    this.command = command;
    this.event = event;
    this.stream = stream;
  }

  /** Whether it was recorded on a stream. */
  boolean isOf(long other) {
    return stream == other;
  }

  @Override
  public boolean isDone() {
    if (ended) {
      return true;
    }
    users.enter();
    try {
      int code = context.call(() -> Cuda.cuEventQuery(event));
      ended = code == ErrorCodes.CUDA_SUCCESS;
      // A failed command has ended too; await says how.
      return code != ErrorCodes.CUDA_ERROR_NOT_READY;
    } finally {
      leave();
    }
  }

  @Override
  public void await() {
    users.enter();
    try {
      if (!ended) {
        int code = context.call(this::waitForEnd);
        if (code != ErrorCodes.CUDA_SUCCESS) {
          throw NativeCall.failure(command, code);
        }
        ended = true;
      }
    } finally {
      leave();
    }
  }

  private int waitForEnd() {
    long start = System.nanoTime();
    int code = Cuda.cuEventQuery(event);
    while (code == ErrorCodes.CUDA_ERROR_NOT_READY && System.nanoTime() - start < SPIN_NANOS) {
      Thread.onSpinWait();
      code = Cuda.cuEventQuery(event);
    }
    return code == ErrorCodes.CUDA_SUCCESS ? code : waitInDriver();
  }

  /**
   * A question or a wait that failed does not say that the command has ended, and its memory must
   * not go before: so it is waited for once more.
   */
  private int waitInDriver() {
    int code = Cuda.cuEventSynchronize(event);
    if (code != ErrorCodes.CUDA_SUCCESS) {
      Cuda.cuEventSynchronize(event);
    }
    return code;
  }

  /** What is submitted to a stream from now on waits for this command. */
  void holdUp(long stream) {
    users.enter();
    try {
      Cuda.cuStreamWaitEvent(stream, event);
    } finally {
      leave();
    }
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      leave();
    }
  }

  private void leave() {
    if (users.leave() && !Shutdown.hasBegun()) {
      if (ended) {
        pool.giveBack(event);
      } else {
        Closing.surviving(() -> context.run(this::giveBack));
      }
    }
  }

  private void giveBack() {
    if (Cuda.cuEventQuery(event) == ErrorCodes.CUDA_SUCCESS) {
      pool.giveBack(event);
    } else {
      Cuda.cuEventDestroy(event);
    }
  }
}
