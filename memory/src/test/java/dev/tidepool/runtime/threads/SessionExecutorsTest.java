package dev.tidepool.runtime.threads;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

class SessionExecutorsTest {
  @Test
  void whatIsAskedForAfterTheEndIsDoneByWhoAsks() {
    SessionExecutors workers = new SessionExecutors(1, Queue::poll);
    workers.close();
    List<Thread> ran = new ArrayList<>();
    workers.transfers().execute(() -> ran.add(Thread.currentThread()));
    workers.kernels().execute(() -> ran.add(Thread.currentThread()));
    assertThat(ran).containsExactly(Thread.currentThread(), Thread.currentThread());
  }
}
