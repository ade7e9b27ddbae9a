package dev.tidepool.testkit.simulated;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.support.Uninterruptibly;
import dev.tidepool.testkit.SpiCall;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The event of a simulated command. */
final class SimulatedEvent implements Event {
  private final SimulatedDevice device;
  private final Completion completion;
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile boolean endedWell;

  SimulatedEvent(SimulatedDevice device, Completion completion) {
    this.device = device;
    this.completion = completion;
    device.opened(this);
  }

  /** Outlives the event: threads may still wait after its owner has closed it. */
  static final class Completion {
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile @Nullable AcceleratorException failure;

    void end(@Nullable AcceleratorException failure) {
      this.failure = failure;
      ended.countDown();
    }

    boolean isDone() {
      return ended.getCount() == 0;
    }

    /** Returns whether the command has ended and failed. */
    boolean hasFailed() {
      return failure != null;
    }

    /** Waits whatever the outcome; an interrupt stays set. */
    void join() {
      Uninterruptibly.await(ended::await);
    }
  }

  Completion completion() {
    return completion;
  }

  SimulatedDevice device() {
    return device;
  }

  void checkOpen() {
    if (closed.get()) {
      throw device.punished("an event is used after it was closed");
    }
  }

  @Override
  public boolean isDone() {
    checkOpen();
    boolean done = completion.isDone();
    endedWell |= done && !completion.hasFailed() && !device.isLost();
    return done;
  }

  @Override
  public void await() {
    device.ledger().count(SpiCall.EVENT_AWAIT);
    checkOpen();
    device.checkMayBlock("Event.await");
    completion.join();
    AcceleratorException failure = completion.failure;
    if (failure != null) {
      AcceleratorException thrown =
          new AcceleratorException(
              failure.call(), failure.code(), failure.codeName(), "the command failed");
      thrown.initCause(failure);
      throw thrown;
    }
    if (!endedWell) {
      device.checkAlive("Event.await");
      endedWell = true;
    }
  }

  @Override
  public void close() {
    device.ledger().count(SpiCall.CLOSE_EVENT);
    if (closed.getAndSet(true)) {
      device.ledger().violation("an event is closed twice");
      return;
    }
    device.closed(this);
  }
}
