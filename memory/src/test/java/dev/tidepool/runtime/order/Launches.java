package dev.tidepool.runtime.order;

import dev.tidepool.spi.Queue;
import java.lang.reflect.Proxy;
import org.jspecify.annotations.Nullable;

/** Launches of which only the order counts, and queues of a device that none of them calls. */
final class Launches {
  private Launches() {}

  /** Returns a queue that fails the test if it is called. */
  static Queue queue() {
    return (Queue)
        Proxy.newProxyInstance(
            Queue.class.getClassLoader(),
            new Class<?>[] {Queue.class},
            (_, method, _) -> {
              throw new AssertionError(method + " is called");
            });
  }

  /** Returns a launch for which nothing has to be made or moved. */
  static DeviceLaunch launch(LaunchQueues queues) {
    return new DeviceLaunch(queues, command());
  }

  /** Returns a command that needs nothing and does nothing at its end. */
  static DeviceLaunch.Command command() {
    return new DeviceLaunch.Command() {
      @Override
      public boolean isInPlace() {
        return true;
      }

      @Override
      public void settled(@Nullable Throwable failure) {}
    };
  }
}
