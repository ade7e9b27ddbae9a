package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.UseCount;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongToIntFunction;

/**
 * The end of a command.
 *
 * <p>Counts its users, so that a close while another thread waits releases the driver's event after
 * that wait and not during it. An event is returned to its pool if its command has ended. If it is
 * closed before, it is destroyed, which the driver does when the command ends.
 */
final class CudaEvent implements Event {
  /**
   * A waiting thread first polls without pause for this long: the shortest commands end meanwhile.
   */
  private static final long SPIN_NANOS =
      Runtime.getRuntime().availableProcessors() > 1 ? 50_000 : 0;

  /**
   * The thread then polls with pauses until this much time has passed, and then sleeps in the
   * driver.
   */
  private static final long POLL_NANOS = 20_000_000;

  /** A pause is this part of the time waited so far, and so is the delay that it may cause. */
  private static final int LATENESS = 16;

  /** How often a wait that the driver refuses is tried. */
  private static final int ATTEMPTS = 100;

  private static final long PAUSE_NANOS = 1_000_000;

  private final Context context;
  private final EventPool pool;
  private final String command;
  private final long event;
  private final long stream;
  private final UseCount users = new UseCount("an event");
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile boolean ended;

  /**
   * Takes ownership of an event that was recorded after a command.
   *
   * @param command the function that submitted the command
   * @param stream the stream on which it was recorded; 0 if that may be destroyed before the
   *     command ends
   */
  CudaEvent(Context context, EventPool pool, String command, long event, long stream) {
    this.context = context;
    this.pool = pool;
    this.command = command;
    this.event = event;
    this.stream = stream;
  }

  /** Returns whether it was recorded on a stream. */
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
      int code = ask(Cuda::cuEventQuery);
      ended = code == ErrorCodes.CUDA_SUCCESS;
      return isAnswer(code);
    } finally {
      leave();
    }
  }

  @Override
  public void await() {
    users.enter();
    try {
      if (!ended) {
        int code = waitForEnd();
        if (code != ErrorCodes.CUDA_SUCCESS) {
          throw NativeCall.failure(command, code);
        }
        ended = true;
      }
    } finally {
      leave();
    }
  }

  /**
   * Calls a function of the event; if the context cannot be entered, returns that failure's code.
   */
  private int ask(LongToIntFunction function) {
    try {
      return context.call(() -> function.applyAsInt(event));
    } catch (AcceleratorException refused) {
      return refused.code();
    }
  }

  /**
   * Returns whether a code means that the command has ended, successfully or not: a command that
   * fails makes the device unusable. A call that failed otherwise says nothing about the command.
   */
  private static boolean isAnswer(int code) {
    return code == ErrorCodes.CUDA_SUCCESS
        || ErrorCodes.kindOf(code) == AcceleratorException.Kind.DEVICE_LOST;
  }

  /**
   * Waits for the command. An interrupt of the device wakes a thread that sleeps in the driver long
   * after the command has ended (35 us after short sleeps, 250 us after long ones, on an H200 in a
   * virtual machine). A thread that polls with pauses notices the end sooner.
   */
  private int waitForEnd() {
    long start = System.nanoTime();
    int code = ask(_ -> spin(start));
    long waited = System.nanoTime() - start;
    // A virtual thread might continue under a carrier's context, and an interrupted thread cannot
    // sleep.
    boolean sleeps = !Thread.currentThread().isVirtual();
    while (code == ErrorCodes.CUDA_ERROR_NOT_READY
        && sleeps
        && waited < POLL_NANOS
        && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(this, waited / LATENESS);
      code = ask(Cuda::cuEventQuery);
      waited = System.nanoTime() - start;
    }
    return code == ErrorCodes.CUDA_SUCCESS ? code : waitInDriver();
  }

  private int spin(long start) {
    int code = Cuda.cuEventQuery(event);
    while (code == ErrorCodes.CUDA_ERROR_NOT_READY && System.nanoTime() - start < SPIN_NANOS) {
      Thread.onSpinWait();
      code = Cuda.cuEventQuery(event);
    }
    return code;
  }

  /**
   * Waits in the driver. A failed wait does not mean that the command has ended, and its memory
   * must not be released before. The wait is therefore tried again, but not forever, since some
   * failures last.
   */
  private int waitInDriver() {
    int code = ask(Cuda::cuEventSynchronize);
    for (int attempt = 1; !isAnswer(code) && attempt < ATTEMPTS; attempt++) {
      LockSupport.parkNanos(this, PAUSE_NANOS);
      code = ask(Cuda::cuEventSynchronize);
    }
    return code;
  }

  /** Makes commands that are submitted to a stream from now on wait for this command. */
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
