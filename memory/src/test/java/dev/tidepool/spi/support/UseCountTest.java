package dev.tidepool.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** The last user of a native object releases it. */
class UseCountTest {
  private final UseCount users = new UseCount("an event");

  @Test
  void theLastUserIsTold() {
    users.enter();
    assertThat(users.leave()).isFalse();
    assertThat(users.leave()).isTrue();
  }

  @Test
  void aUseAfterTheLastIsRefused() {
    assertThat(users.leave()).isTrue();
    assertThatThrownBy(users::enter)
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("an event is used after it was closed");
  }
}
