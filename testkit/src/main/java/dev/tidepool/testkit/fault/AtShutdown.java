package dev.tidepool.testkit.fault;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.Shutdown;
import java.util.function.LongSupplier;

/**
 * A program that ends too late: a shutdown hook uses and closes a device, when no driver may be
 * called any more. It needs its own process, whose output contains the results.
 */
public final class AtShutdown {
  private AtShutdown() {}

  /**
   * Leaves a queue and a block open until the shutdown.
   *
   * @param queues returns the number of the driver's queues in the process
   */
  public static void use(Device device, LongSupplier queues) {
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
                  long before = queues.getAsLong();
                  block.free();
                  queue.close();
                  device.close();
                  System.out.println(
                      "closed, "
                          + (queues.getAsLong() - before + 1)
                          + " queues are left to the process's end");
                }));
  }
}
