package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What is watched is signaled and released, whatever there is no memory for. */
@ExtendWith(NothingLeaks.class)
@Timeout(120)
class FailureWatchTest {
  /** A command that is only counted. */
  private static final class Counted implements FailureWatch.Command {
    final AtomicInteger signals = new AtomicInteger();
    final AtomicInteger releases = new AtomicInteger();
    private final Error failure;
    private final int failures;

    Counted(Error failure, int failures) {
      this.failure = failure;
      this.failures = failures;
    }

    @Override
    public void signalEnd() {
      if (signals.getAndIncrement() < failures) {
        throw failure;
      }
    }

    @Override
    public void close() {
      releases.incrementAndGet();
      if (failures == Integer.MAX_VALUE) {
        throw failure;
      }
    }
  }

  @Test
  void aCommandIsSignaledOnceThereIsMemoryForThat() {
    Counted full = new Counted(new OutOfMemoryError("for the test"), 3);
    try (FailureWatch watch = new FailureWatch("metal:9")) {
      watch.add(full);
    }
    assertThat(full.signals).hasValue(4);
    assertThat(full.releases).hasValue(1);
  }

  @Test
  void aCommandThatFailsToBeWatchedDoesNotEndTheWatch() {
    Counted broken = new Counted(new AssertionError("for the test"), Integer.MAX_VALUE);
    Counted next = new Counted(new AssertionError("for the test"), 0);
    try (FailureWatch watch = new FailureWatch("metal:9")) {
      watch.add(broken);
      watch.add(next);
    }
    assertThat(broken.releases).hasValue(1);
    assertThat(next.signals).hasValue(1);
    assertThat(next.releases).hasValue(1);
  }

  /** The command is not watched then, and the next one is, if there is a thread again. */
  @Test
  void aThreadThatCannotBeStartedHoldsNoCommand() {
    SimulatedMetal simulated = Simulation.with(1);
    AtomicBoolean full = new AtomicBoolean(true);
    ThreadFactory threads =
        action -> {
          if (full.get()) {
            throw new OutOfMemoryError("unable to create native thread");
          }
          return Thread.ofPlatform().unstarted(action);
        };
    try (Device device = Simulation.devices().getFirst();
        Queue queue = device.createQueue();
        FailureWatch watch = new FailureWatch("metal:9", threads)) {
      Block block = device.allocate(64, 16, BlockKind.DEVICE);
      simulated.setAll("latency_ns", 50_000_000);
      try (MetalEvent event = (MetalEvent) queue.fill(block, 0, 64, (byte) 1)) {
        assertThatThrownBy(() -> event.hold(watch)).isInstanceOf(OutOfMemoryError.class);
        full.set(false);
        MetalEvent.Wait wait = event.hold(watch);
        if (wait != null) {
          wait.close();
        }
        event.await();
      }
      simulated.setAll("latency_ns", 0);
      block.free();
    }
  }
}
