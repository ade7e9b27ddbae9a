package dev.tidepool.runtime.order;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.LaunchOrder;
import java.util.List;
import org.junit.jupiter.api.Test;

class LaunchQueuesTest {
  private final LaunchQueues queues = queues(LaunchOrder.ACROSS_QUEUES);

  private static LaunchQueues queues(LaunchOrder order) {
    return new LaunchQueues(
        List.of(Launches.queue(), Launches.queue(), Launches.queue()), order, Runnable::run);
  }

  private DeviceLaunch launch() {
    return Launches.launch(queues);
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
