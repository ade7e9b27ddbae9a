package dev.tidepool.cuda.ipc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** The creator of a pipe sees when its last writing end is closed. */
@EnabledOnOs(OS.LINUX)
@Timeout(60)
final class LivenessPipeTest {
  @Test
  void itIsOverWhenTheLastDescriptorIsClosed() {
    LivenessPipe.Begun begun = LivenessPipe.begin();
    try (LivenessPipe hold = begun.hold()) {
      int second = LivenessPipe.another(begun.descriptor());
      assertThat(second).isNotEqualTo(begun.descriptor());
      assertThat(hold.isOver(0)).isFalse();
      DescriptorExchange.discard(begun.descriptor());
      assertThat(hold.isOver(0)).isFalse();
      DescriptorExchange.discard(second);
      assertThat(hold.isOver(0)).isTrue();
      assertThat(hold.isOver(-1)).isTrue();
    }
  }

  @Test
  void aWaitingThreadWakesAtTheEnd() throws Exception {
    LivenessPipe.Begun begun = LivenessPipe.begin();
    try (LivenessPipe hold = begun.hold()) {
      CompletableFuture<Boolean> over = new CompletableFuture<>();
      Thread.ofPlatform().daemon().start(() -> over.complete(hold.isOver(-1)));
      assertThat(over).isNotDone();
      DescriptorExchange.discard(begun.descriptor());
      assertThat(over.get(30, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void thisProcessIsNotListedAsAHolder() {
    LivenessPipe.Begun begun = LivenessPipe.begin();
    try (LivenessPipe hold = begun.hold()) {
      assertThat(hold.holders()).doesNotContain(ProcessHandle.current().pid());
      DescriptorExchange.discard(begun.descriptor());
      assertThat(hold.holders()).isEmpty();
    }
  }
}
