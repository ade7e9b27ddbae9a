package dev.tidepool.benchmarks;

import dev.tidepool.link.StagingThreads;

/** Provides no threads, so that the calling thread moves every transfer alone. */
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
