package dev.tidepool.spi;

import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * The end of several commands. It is done when all commands are done, and fails if any of them
 * failed.
 */
final class JointEvent implements Event {
  private final Event[] events;

  private JointEvent(Event[] events) {
    this.events = events;
  }

  /** Submits one command of several. */
  interface Submission<T> {
    Event submit(T item);
  }

  /**
   * Submits a command for each item. If a submission throws, this method first waits for the
   * commands before it, so that their memory may be freed.
   */
  static <T> JointEvent of(List<T> items, Submission<T> submission) {
    Event[] events = new Event[items.size()];
    JointEvent joint = new JointEvent(events);
    int submitted = 0;
    try {
      for (T item : items) {
        events[submitted] = submission.submit(item);
        submitted++;
      }
      return joint;
    } catch (RuntimeException | Error refused) {
      for (int i = 0; i < submitted; i++) {
        try (Event begun = events[i]) {
          EventWait.untilEnded(begun);
        } catch (RuntimeException failed) {
          refused.addSuppressed(failed);
        }
      }
      throw refused;
    }
  }

  @Override
  public boolean isDone() {
    return Arrays.stream(events).allMatch(Event::isDone);
  }

  @Override
  public void await() {
    forEach(Event::await);
  }

  @Override
  public void close() {
    forEach(Event::close);
  }

  /**
   * Applies an action to all events, then throws the first failure. The caller may free memory only
   * after all have ended.
   */
  private void forEach(Consumer<Event> action) {
    RuntimeException first = null;
    for (Event event : events) {
      try {
        action.accept(event);
      } catch (RuntimeException e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    if (first != null) {
      throw first;
    }
  }
}
