package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Kernels that wait for events on the device, and fail with them. */
@ExtendWith(NothingLeaks.class)
class LaunchWaitsTest {
  private static final int SIZE = 64;

  /** Launches a kernel that sets bytes to 2, behind an event of the test's. */
  private static void launchBehindEvent(int status, boolean runs) {
    KernelSource.OpenCl source =
        (KernelSource.OpenCl)
            KernelSource.opencl(
                "__kernel void two(__global char* y) { y[get_global_id(0)] = 2; }",
                "two",
                KernelParameter.out("y", ElementType.BYTE));
    try (Opened opened = new Opened();
        Program program = opened.device.compile(source, source.parameters())) {
      Block block = opened.device.allocate(SIZE, 64, BlockKind.DEVICE);
      Bytes.await(opened.queue.fill(block, 0, SIZE, (byte) 1));
      Launch launch =
          new Launch(
              program, List.of(new KernelArgument.Array(block, 0, SIZE)), LaunchRange.of(SIZE));
      Context context = opened.device.context();
      long signal = UserEvent.create(context);
      long commands =
          OpenCL.clCreateCommandQueue(context.handle(), opened.device.properties().handle());
      try (OpenClEvent waited = new OpenClEvent(context, signal);
          OpenClEvent launched = enqueue(context, commands, program, launch, signal)) {
        assertThat(launched.isDone()).isFalse();
        UserEvent.end(signal, status);
        if (runs) {
          launched.await();
        } else {
          assertThatThrownBy(launched::await)
              .isInstanceOf(AcceleratorException.class)
              .hasMessageContaining("clEnqueueNDRangeKernel");
        }
        assertThat(waited.isDone()).isTrue();
      }
      OpenCL.clReleaseCommandQueue(commands);
      assertThat(Bytes.read(opened.queue, block, 0, SIZE)).containsOnly(runs ? 2 : 1);
      // What does not depend on it runs.
      Bytes.await(opened.queue.launch(launch, List.of()));
      assertThat(Bytes.read(opened.queue, block, 0, SIZE)).containsOnly(2);
      block.free();
    }
  }

  private static OpenClEvent enqueue(
      Context context, long queue, Program program, Launch launch, long signal) {
    try (Submission submission = new Submission(context, queue, new long[] {signal})) {
      ((OpenClProgram) program).enqueue(submission, launch);
      return submission.end();
    }
  }

  /** A device and a queue of it. */
  private static final class Opened implements AutoCloseable {
    final OpenClDevice device = (OpenClDevice) Pocl.device(Map.of());
    final Queue queue = device.createQueue();

    @Override
    public void close() {
      queue.close();
      device.close();
    }
  }

  @Test
  void aKernelBeginsWhenWhatItDependsOnHasEnded() {
    launchBehindEvent(OpenCL.CL_COMPLETE, true);
  }

  @Test
  void aKernelThatDependsOnWhatFailedDoesNotRun() {
    launchBehindEvent(ErrorCodes.CL_OUT_OF_RESOURCES, false);
  }

  @Test
  void poclIsKeptInOrderByTheHost() {
    try (Opened opened = new Opened()) {
      assertThat(opened.device.launchOrder()).isEqualTo(LaunchOrder.HOST);
    }
  }
}
