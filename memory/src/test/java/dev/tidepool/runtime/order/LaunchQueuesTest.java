package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.Queue;
import java.lang.reflect.Proxy;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class LaunchQueuesTest {
  private final LaunchQueues queues = queues(LaunchOrder.ACROSS_QUEUES);

  private static LaunchQueues queues(LaunchOrder order) {
    return new LaunchQueues(List.of(queue(), queue(), queue()), order, Runnable::run);
  }

  private static Queue queue() {
    return (Queue)
        Proxy.newProxyInstance(
            Queue.class.getClassLoader(),
            new Class<?>[] {Queue.class},
            (_, method, _) -> {
              throw new AssertionError(method + " is called");
            });
  }

  private DeviceLaunch launch() {
    return new DeviceLaunch(
        queues,
        new DeviceLaunch.Command() {
          @Override
          public boolean isInPlace() {
            return true;
          }

          @Override
          public void settled(@Nullable Throwable failure) {}
        });
  }

  @Test
  void aLaunchGoesToTheFirstQueueThatHasNothingToDo() {
    LaunchQueue first = queues.next();
    assertThat(queues.next()).isSameAs(first);

    DeviceLaunch launch = launch();
    assertThat(first.tryPlace(launch)).isTrue();
    LaunchQueue second = queues.next();
    assertThat(second).isNotSameAs(first);
    assertThat(queues.next()).isSameAs(second);

    first.leavePlace(launch);
    assertThat(queues.next()).isSameAs(first);
  }

  @Test
  void launchesTakeTurnsWhereAllQueuesAreBusy() {
    for (int i = 0; i < 3; i++) {
      assertThat(queues.next().tryPlace(launch())).isTrue();
    }
    List<LaunchQueue> chosen = List.of(queues.next(), queues.next(), queues.next());
    assertThat(chosen).doesNotHaveDuplicates();
  }

  @Test
  void allGoToOneQueueWhereTheDeviceOrdersThatOneAlone() {
    LaunchQueues inQueue = queues(LaunchOrder.IN_QUEUE);
    LaunchQueue only = inQueue.next();
    assertThat(only.tryPlace(launch())).isTrue();
    assertThat(inQueue.next()).isSameAs(only);
  }
}
