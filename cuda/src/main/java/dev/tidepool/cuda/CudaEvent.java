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
 * <p>Counts its users, so that closing it while another thread waits gives the driver's event back
 * after that wait and not under it. An event goes back to its pool when its command has ended; one
 * that is closed before is destroyed, which the driver does at that end.
 */
final class CudaEvent implements Event {
  /** A thread that waits asks at once for so long: the shortest commands end meanwhile. */
  private static final long SPIN_NANOS =
      Runtime.getRuntime().availableProcessors() > 1 ? 50_000 : 0;

  /** Then it asks now and then until so much time has passed, and then sleeps in the driver. */
  private static final long POLL_NANOS = 20_000_000;

  /** It sleeps in between for a part of the time that it has waited for, and is late by that. */
  private static final int LATENESS = 16;

  /** So often a wait is tried that the driver refuses. */
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
   * Takes over an event that was recorded behind a command.
   *
   * @param command the function that submitted it
   * @param stream where it was recorded; 0 if that may end before the command
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

  /** Calls a function of the event; a refusal to enter the context is its code too. */
  private int ask(LongToIntFunction function) {
    try {
      return context.call(() -> function.applyAsInt(event));
    } catch (AcceleratorException refused) {
      return refused.code();
    }
  }

  /**
   * Returns whether a code says that the command has ended, well or not: a command that fails takes
   * the device with it. A question that failed otherwise says nothing of the command.
   */
  private static boolean isAnswer(int code) {
    return code == ErrorCodes.CUDA_SUCCESS
        || ErrorCodes.kindOf(code) == AcceleratorException.Kind.DEVICE_LOST;
  }

  /**
   * Waits. A thread that sleeps in the driver is woken by an interrupt of the device, long after
   * the command has ended (35 us after short sleeps, 250 us after long ones, on an H200 in a
   * virtual machine). A thread that asks now and then is woken sooner.
   */
  private int waitForEnd() {
    long start = System.nanoTime();
    int code = ask(_ -> spin(start));
    long waited = System.nanoTime() - start;
    // A virtual thread might go on under a carrier's context, and an interrupt keeps from sleeping.
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
   * A wait that failed does not say that the command has ended, and its memory must not go before:
   * so it is tried again, but not forever, since some failures last.
   */
  private int waitInDriver() {
    int code = ask(Cuda::cuEventSynchronize);
    for (int attempt = 1; !isAnswer(code) && attempt < ATTEMPTS; attempt++) {
      LockSupport.parkNanos(this, PAUSE_NANOS);
      code = ask(Cuda::cuEventSynchronize);
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
