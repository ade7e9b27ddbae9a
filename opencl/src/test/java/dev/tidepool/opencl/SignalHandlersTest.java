package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Drivers replace signal handlers that the virtual machine needs; afterwards they are back. */
class SignalHandlersTest {

  @Test
  void dividingByZeroThrowsAfterDiscoveryAndAfterAKernel() throws Exception {
    Pocl.devices().forEach(Device::close);
    OwnJvm.Result result = OwnJvm.run(DivideByZero.class, List.of());
    assertThat(result.output())
        .contains("before: 100000 of 100000")
        .contains("after discovery: 100000 of 100000")
        .contains("after a kernel: 100000 of 100000")
        .contains("null: ok");
    assertThat(result.status()).isZero();
  }

  /** Divides in compiled code, where the processor's trap is what notices a zero. */
  static final class DivideByZero {
    private static int divide(int dividend, int divisor) {
      return dividend / divisor;
    }

    private static String exceptions() {
      int caught = 0;
      int sum = 0;
      for (int i = 0; i < 200_000; i++) {
        sum += divide(i, 1 + (i & 1));
      }
      for (int i = 0; i < 100_000; i++) {
        try {
          sum += divide(i, 0);
        } catch (ArithmeticException expected) {
          caught++;
        }
      }
      return caught + " of 100000" + (sum == 0 ? "" : "");
    }

    public static void main(String[] arguments) {
      System.out.println("before: " + exceptions());
      List<Device> devices = new OpenClProvider().discover().devices();
      System.out.println("after discovery: " + exceptions());
      KernelSource.OpenCl source =
          (KernelSource.OpenCl)
              KernelSource.opencl(
                  "__kernel void seven(__global int* y) { y[get_global_id(0)] = 7; }",
                  "seven",
                  KernelParameter.out("y", ElementType.INT));
      try (Device device = devices.getFirst();
          Queue queue = device.createQueue();
          Program seven = device.compile(source, source.parameters())) {
        Block block = device.allocate(4096, 64, BlockKind.DEVICE);
        Bytes.await(
            queue.launch(
                new Launch(
                    seven,
                    List.of(new KernelArgument.Array(block, 0, 4096)),
                    LaunchRange.of(1024))));
        block.free();
      }
      System.out.println("after a kernel: " + exceptions());
      // Implicit null checks stand on SIGSEGV in the same way.
      try {
        System.out.println(((String) arguments(arguments.length)).length());
      } catch (NullPointerException expected) {
        System.out.println("null: ok");
      }
      devices.forEach(Device::close);
    }

    private static Object arguments(int count) {
      return count == 0 ? null : "some";
    }
  }
}
