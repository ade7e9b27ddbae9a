package dev.tidepool.spi;

import dev.tidepool.AcceleratorException;
import java.util.ArrayList;
import java.util.List;

/** The end of several commands: done when all are, failed when any is. */
final class JointEvent implements Event {
  private final List<Event> events;

  private JointEvent(List<Event> events) {
    this.events = events;
  }

  /** One command of several. */
  interface Submission<T> {
    Event submit(T item);
  }

  /**
   * Submits a command for each item. If one is refused, those before it have ended when the refusal
   * is thrown: what they use may be freed then.
   */
  static <T> JointEvent of(List<T> items, Submission<T> submission) {
    List<Event> submitted = new ArrayList<>(items.size());
    try {
      for (T item : items) {
        submitted.add(submission.submit(item));
      }
      return new JointEvent(submitted);
    } catch (RuntimeException | Error refused) {
      try (JointEvent begun = new JointEvent(submitted)) {
        begun.await();
      } catch (RuntimeException failed) {
        refused.addSuppressed(failed);
      }
      throw refused;
    }
  }

  @Override
  public boolean isDone() {
    return events.stream().allMatch(Event::isDone);
  }

  @Override
  public void await() {
    AcceleratorException first = null;
    for (Event event : events) {
      try {
        event.await();
      } catch (AcceleratorException e) {
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

  @Override
  public void close() {
    events.forEach(Event::close);
  }
}
