package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.Shutdown;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The driver is left alone once the virtual machine shuts down. */
class ShutdownTest {

  @Test
  void closingDuringShutdownCallsNoDriverAndIsNoError() throws Exception {
    Pocl.devices().forEach(Device::close);
    OwnJvm.Result result = OwnJvm.run(CloseInAHook.class, List.of());
    assertThat(result.output())
        .contains("command: clEnqueueSVMMemFill: the virtual machine is shutting down")
        .contains("closed, 1 queues are left to the process's end")
        .doesNotContain("Exception in thread");
    assertThat(result.status()).isZero();
  }

  /** Leaves everything open until the shutdown hooks run. */
  static final class CloseInAHook {
    public static void main(String[] arguments) {
      Device device = new OpenClProvider().discover().devices().getFirst();
      Queue queue = device.createQueue();
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      Runtime.getRuntime()
          .addShutdownHook(
              new Thread(
                  () -> {
                    while (!Shutdown.hasBegun()) {
                      Thread.onSpinWait();
                    }
                    try {
                      queue.fill(block, 0, 64, (byte) 0).close();
                    } catch (IllegalStateException refused) {
                      System.out.println("command: " + refused.getMessage());
                    }
                    long before = LiveObjects.count(LiveObjects.Kind.QUEUE);
                    block.free();
                    queue.close();
                    device.close();
                    System.out.println(
                        "closed, "
                            + (LiveObjects.count(LiveObjects.Kind.QUEUE) - before + 1)
                            + " queues are left to the process's end");
                  }));
    }
  }
}
