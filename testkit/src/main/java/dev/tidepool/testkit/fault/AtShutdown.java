package dev.tidepool.testkit.fault;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.Shutdown;
import java.util.function.LongSupplier;

/**
 * A program's end that comes too late: a device is used and closed by a hook while the virtual
 * machine shuts down, when no driver may be called any more. For a process of its own, whose output
 * says what came of it.
 */
public final class AtShutdown {
  private AtShutdown() {}

  /**
   * Leaves a queue and a block open until then.
   *
   * @param queues counts the driver's queues that the process has
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
