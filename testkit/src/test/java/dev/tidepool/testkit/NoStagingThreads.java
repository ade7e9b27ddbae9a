package dev.tidepool.testkit;

import dev.tidepool.link.StagingThreads;

/** No threads help: every transfer is moved by its caller alone. */
record NoStagingThreads() implements StagingThreads {
  @Override
  public int most() {
    return 0;
  }

  @Override
  public boolean tryStart(Runnable task) {
    return false;
  }
}
