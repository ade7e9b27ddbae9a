package dev.tidepool.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The end of several commands, some of which fail. */
class JointEventTest {
  private final List<Integer> awaited = new ArrayList<>();
  private final List<Integer> closed = new ArrayList<>();

  /** A command that fails, at its end and when it is closed, if its number is odd. */
  private Event event(int number) {
    return new Event() {
      @Override
      public boolean isDone() {
        return true;
      }

      @Override
      public void await() {
        awaited.add(number);
        failIfOdd("await");
      }

      @Override
      public void close() {
        closed.add(number);
        failIfOdd("close");
      }

      private void failIfOdd(String call) {
        if (number % 2 == 1) {
          throw new IllegalStateException(call + " " + number);
        }
      }
    };
  }

  @Test
  void allHaveEndedWhenAFailureIsThrown() {
    JointEvent joint = JointEvent.of(List.of(0, 1, 2, 3, 4), this::event);
    assertThatThrownBy(joint::await)
        .hasMessage("await 1")
        .satisfies(
            failure ->
                assertThat(failure.getSuppressed())
                    .singleElement()
                    .extracting(Throwable::getMessage)
                    .isEqualTo("await 3"));
    assertThat(awaited).containsExactly(0, 1, 2, 3, 4);
  }

  @Test
  void allAreClosedWhenAFailureIsThrown() {
    JointEvent joint = JointEvent.of(List.of(0, 1, 2, 3, 4), this::event);
    assertThatThrownBy(joint::close).hasMessage("close 1");
    assertThat(closed).containsExactly(0, 1, 2, 3, 4);
  }
}
