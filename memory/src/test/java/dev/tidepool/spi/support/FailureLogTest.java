package dev.tidepool.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FailureLogTest {
  @Test
  void aMessageThatCannotBeWrittenIsGivenUp() {
    Object heavy =
        new Object() {
          @Override
          public String toString() {
            throw new OutOfMemoryError("on purpose");
          }
        };
    assertThatCode(() -> FailureLog.warn("", heavy, "", new AssertionError()))
        .doesNotThrowAnyException();
  }

  @Test
  void anErrorInOneStepOfACloseEndsNoOther() {
    List<String> done = new ArrayList<>();
    Closing.surviving(
        "the first step",
        () -> {
          done.add("first");
          throw new StackOverflowError("on purpose");
        });
    Closing.surviving("the second step", () -> done.add("second"));
    assertThat(done).containsExactly("first", "second");
  }
}
