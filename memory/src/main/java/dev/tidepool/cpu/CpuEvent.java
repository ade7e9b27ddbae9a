package dev.tidepool.cpu;

import dev.tidepool.spi.Event;
import org.jspecify.annotations.Nullable;

/** The event of a command that has ended on the calling thread. */
record CpuEvent(@Nullable RuntimeException failure) implements Event {
  @Override
  public boolean isDone() {
    return true;
  }

  @Override
  public void await() {
    if (failure != null) {
      throw failure;
    }
  }

  @Override
  public void close() {}
}
