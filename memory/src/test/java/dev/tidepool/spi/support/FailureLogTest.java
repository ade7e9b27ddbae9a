package dev.tidepool.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
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

  /** A program can have a log of its own. */
  @Test
  void aLogThatFailsEndsNoClose() {
    Logger logger = Logger.getLogger(Closing.class.getName());
    Handler broken =
        new Handler() {
          @Override
          public void publish(LogRecord record) {
            throw new IllegalStateException("on purpose");
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    logger.addHandler(broken);
    try {
      assertThatCode(
              () ->
                  Closing.surviving(
                      () -> {
                        throw new IllegalStateException("on purpose");
                      }))
          .doesNotThrowAnyException();
    } finally {
      logger.removeHandler(broken);
    }
  }
}
