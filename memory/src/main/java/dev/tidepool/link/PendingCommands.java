package dev.tidepool.link;

import dev.tidepool.spi.Event;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The commands that a thread has submitted and not waited for yet, the oldest first. Closing waits
 * for the remaining ones, so that no command is in progress after its transfer has failed.
 *
 * <p>Room for a command is reserved before it is submitted, so that a full heap loses none. Not
 * thread-safe.
 */
final class PendingCommands implements AutoCloseable {
  private @Nullable Event[] events;
  private int first;
  private int end;

  PendingCommands(int most) {
    events = new Event[most];
  }

  /** Reserves room for one command. Called before the command is submitted. */
  void makeRoom() {
    if (first > 0 && end == events.length) {
      for (int i = first; i < end; i++) {
        events[i - first] = events[i];
      }
      end -= first;
      first = 0;
    }
    if (end == events.length) {
      events = Arrays.copyOf(events, 2 * end + 1);
    }
  }

  /** Adds a command, for which {@link #makeRoom} was called. */
  void add(Event submitted) {
    events[end] = submitted;
    end++;
  }

  int size() {
    return end - first;
  }

  void finishOldest() {
    DeviceLink.finish(removeOldest());
  }

  private Event removeOldest() {
    Event oldest = Objects.requireNonNull(events[first], "it was added");
    events[first] = null;
    first++;
    return oldest;
  }

  /** Waits for all commands. */
  void finishAll() {
    while (first < end) {
      finishOldest();
    }
  }

  /** Waits for the remaining commands and ignores their failures. */
  @Override
  public void close() {
    while (first < end) {
      DeviceLink.finishQuietly(removeOldest());
    }
  }
}
