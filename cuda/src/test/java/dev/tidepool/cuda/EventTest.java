package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A call of the driver that fails does not say that a command has ended. */
@ExtendWith(NothingLeaks.class)
class EventTest {
  private static final int SIZE = 64;
  private static final String QUERY = "cuEventQuery";
  private static final String SYNCHRONIZE = "cuEventSynchronize";
  private static final int UNKNOWN = ErrorCodes.CUDA_ERROR_UNKNOWN;

  private SimulatedCuda simulated;
  private Device device;
  private Queue queue;
  private Block block;

  @BeforeEach
  void open() {
    simulated = Simulation.with(1);
    device = Simulation.devices().getFirst();
    queue = device.createQueue();
    block = device.allocate(SIZE, 64, BlockKind.DEVICE);
    simulated.forget();
  }

  @AfterEach
  void close() {
    queue.close();
    block.free();
    device.close();
  }

  @Test
  void aQuestionThatFailsSaysNothingOfTheCommand() {
    try (Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
      simulated.fail(QUERY, 1, UNKNOWN);
      assertThat(event.isDone()).isFalse();
      event.await();
      assertThat(event.isDone()).isTrue();
    }
  }

  @Test
  void aQueueStillComesAfterACommandOfWhichNothingIsKnown() {
    try (Queue other = device.createQueue();
        Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
      simulated.fail(QUERY, 1, UNKNOWN);
      other.after(event);
      assertThat(simulated.calls("cuStreamWaitEvent")).isOne();
    }
  }

  @Test
  void aQueueDoesNotWaitForItsOwnCommandsNorForOnesThatHaveEnded() {
    try (Queue other = device.createQueue();
        Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
      simulated.fail(QUERY, 1, UNKNOWN);
      queue.after(event);
      assertThat(simulated.calls("cuStreamWaitEvent")).isZero();
      event.await();
      simulated.forget();
      other.after(event);
      assertThat(simulated.calls("cuStreamWaitEvent")).isZero();
    }
  }

  @Test
  void aWaitThatIsRefusedIsTriedAgain() {
    try (Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
      simulated.fail(QUERY, 1, UNKNOWN);
      simulated.fail(SYNCHRONIZE, 1, UNKNOWN, 5);
      event.await();
      assertThat(simulated.calls(SYNCHRONIZE)).isEqualTo(6);
    }
  }

  @Test
  void aContextThatCannotBeEnteredIsTriedAgain() {
    try (Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
      simulated.fail("cuCtxPushCurrent_v2", 1, UNKNOWN, 3);
      event.await();
    }
  }

  @Test
  void aWaitThatIsAlwaysRefusedDoesNotLastForEver() {
    try (Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
      simulated.fail(QUERY, 1, UNKNOWN);
      simulated.fail(SYNCHRONIZE, 1, UNKNOWN, -1);
      assertThatThrownBy(event::await)
          .isInstanceOf(AcceleratorException.class)
          .hasMessageContaining("CUDA_ERROR_UNKNOWN");
    }
  }

  @Test
  void aWaitForALostDeviceEndsAtOnce() {
    try (Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
      simulated.fail(QUERY, 1, ErrorCodes.CUDA_ERROR_CONTAINED, -1);
      simulated.fail(SYNCHRONIZE, 1, ErrorCodes.CUDA_ERROR_CONTAINED, -1);
      assertThat(event.isDone()).isTrue();
      assertThatThrownBy(event::await)
          .isInstanceOf(AcceleratorException.class)
          .hasMessageContaining("CUDA_ERROR_CONTAINED");
      assertThat(simulated.calls(SYNCHRONIZE)).isOne();
    }
  }
}
