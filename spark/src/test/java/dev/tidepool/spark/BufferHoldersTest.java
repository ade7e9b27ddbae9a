package dev.tidepool.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("A kernel that finds no room")
class BufferHoldersTest {
  private final BufferHolders holders = new BufferHolders();

  /** A kernel that has buffers. */
  private final class Other implements BufferHolders.Holder {
    private final CountDownLatch asked = new CountDownLatch(1);
    private volatile boolean isComputing;
    private volatile boolean isClosed;

    private Other(boolean isComputing) {
      this.isComputing = isComputing;
      holders.took(this);
    }

    @Override
    public boolean tryCloseBuffers() {
      asked.countDown();
      if (isComputing) {
        return false;
      }
      isClosed = true;
      holders.gaveBack(this);
      return true;
    }
  }

  @Test
  @DisplayName("has nothing to try again for where no other has buffers")
  void alone() {
    assertThat(holders.makeRoom()).isFalse();
    new Other(false).tryCloseBuffers();
    assertThat(holders.makeRoom()).isFalse();
  }

  @Test
  @DisplayName("closes the buffers of kernels that do not compute, and of no others")
  void idle() {
    Other idle = new Other(false);
    Other computing = new Other(true);
    assertThat(holders.makeRoom()).isTrue();
    assertThat(idle.isClosed).isTrue();
    assertThat(computing.isClosed).isFalse();
  }

  @Test
  @DisplayName("waits for kernels that compute, and closes their buffers behind the chunk")
  void computing() throws Exception {
    Other computing = new Other(true);
    FutureTask<Integer> tries =
        new FutureTask<>(
            () -> {
              int count = 0;
              while (holders.makeRoom()) {
                count++;
              }
              return count;
            });
    Thread.ofPlatform().start(tries);
    computing.asked.await();
    computing.isComputing = false;
    holders.computed();
    assertThat(tries.get()).isPositive();
    assertThat(computing.isClosed).isTrue();
  }

  @Test
  @DisplayName("stops to wait when its thread is interrupted")
  void interrupted() {
    Other computing = new Other(true);
    Thread.currentThread().interrupt();
    assertThat(holders.makeRoom()).isFalse();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(computing.isClosed).isFalse();
  }
}
