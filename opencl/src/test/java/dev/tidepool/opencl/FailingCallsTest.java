package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Whatever call of the driver fails: it is an error with a name, or none, and no leak. */
@ExtendWith(NothingLeaks.class)
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailingCallsTest {
  private static final String BROKEN = "__kernel void broken(__global char* y) { y[0] = missing; }";

  private FailingOpenCl opencl;

  @BeforeEach
  void noCallFails() {
    opencl = FailingOpenCl.orSkip();
  }

  @Test
  void aStatusThatCannotBeReadSaysNothingOfTheCommand() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      try (OpenClEvent event = new OpenClEvent(context, signal)) {
        opencl.fail("clGetEventInfo", 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
        assertThat(event.isDone()).isFalse();
        UserEvent.end(signal, OpenCL.CL_COMPLETE);
        assertThat(event.isDone()).isTrue();
      }
    }
  }

  @Test
  void commandsOfALostDeviceHaveEnded() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      try (OpenClEvent event = new OpenClEvent(context, signal)) {
        opencl.fail("clGetEventInfo", 1, ErrorCodes.CL_DEVICE_NOT_AVAILABLE);
        assertThat(event.isDone()).isTrue();
        opencl.fail("clWaitForEvents", 1, ErrorCodes.CL_DEVICE_NOT_AVAILABLE, -1);
        assertThatThrownBy(event::await).hasMessageContaining("CL_DEVICE_NOT_AVAILABLE");
        assertThat(opencl.calls("clWaitForEvents")).isOne();
        UserEvent.end(signal, OpenCL.CL_COMPLETE);
      }
    }
  }

  @Test
  void aQueueStillComesAfterACommandWhoseStatusCannotBeRead() {
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue()) {
      Context context = ((OpenClDevice) device).context();
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      long signal = UserEvent.create(context);
      try (OpenClEvent ahead = new OpenClEvent(context, signal)) {
        opencl.fail("clGetEventInfo", 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
        queue.after(ahead);
        assertThat(opencl.calls("clEnqueueBarrierWithWaitList")).isOne();
        try (Event filled = queue.fill(block, 0, 64, (byte) 1)) {
          assertThat(filled.isDone()).isFalse();
          UserEvent.end(signal, OpenCL.CL_COMPLETE);
          filled.await();
        }
      }
      block.free();
    }
  }

  @Test
  void aWaitThatIsRefusedIsTriedAgainUntilTheCommandHasEnded() throws Exception {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      try (OpenClEvent event = new OpenClEvent(context, signal)) {
        opencl.fail("clWaitForEvents", 1, ErrorCodes.CL_OUT_OF_HOST_MEMORY, 5);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread waiting =
            Thread.ofPlatform()
                .uncaughtExceptionHandler((_, e) -> failure.set(e))
                .start(event::await);
        await().until(() -> opencl.calls("clWaitForEvents") == 6);
        assertThat(waiting.isAlive()).isTrue();
        UserEvent.end(signal, OpenCL.CL_COMPLETE);
        waiting.join();
        assertThat(failure.get()).isNull();
      }
    }
  }

  @Test
  void aWaitThatIsAlwaysRefusedDoesNotLastForEver() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      try (OpenClEvent event = new OpenClEvent(context, signal)) {
        opencl.fail("clWaitForEvents", 1, ErrorCodes.CL_OUT_OF_RESOURCES, -1);
        assertThatThrownBy(event::await).hasMessageContaining("clWaitForEvents");
        UserEvent.end(signal, OpenCL.CL_COMPLETE);
      }
    }
  }

  @Test
  void aFailedCommandIsNamedAlsoWhereItsTypeCannotBeRead() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      UserEvent.end(signal, ErrorCodes.CL_OUT_OF_RESOURCES);
      try (OpenClEvent failed = new OpenClEvent(context, signal)) {
        opencl.fail("clGetEventInfo", 2, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
        assertThatThrownBy(failed::await)
            .isInstanceOfSatisfying(
                AcceleratorException.class,
                failure -> assertThat(failure.code()).isEqualTo(ErrorCodes.CL_OUT_OF_RESOURCES));
      }
    }
  }
}
