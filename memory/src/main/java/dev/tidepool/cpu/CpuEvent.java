package dev.tidepool.cpu;

import dev.tidepool.spi.Event;
import org.jspecify.annotations.Nullable;

/** The end of a command that ran on the calling thread. */
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
