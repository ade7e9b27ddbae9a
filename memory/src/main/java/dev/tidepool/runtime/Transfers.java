package dev.tidepool.runtime;

import dev.tidepool.TransferCalibration;
import dev.tidepool.TransferEngine;
import dev.tidepool.TransferStatistics;
import dev.tidepool.UnifiedBuffer;
import java.util.concurrent.CompletableFuture;

/** The transfers of one manager. */
record Transfers(AcceleratorMemory memory) implements TransferEngine {
  @Override
  public <A> void copy(UnifiedBuffer<A> source, UnifiedBuffer<A> destination) {
    memory.checkOpen();
    destination.copyFrom(source);
  }

  @Override
  public <A> CompletableFuture<Void> copyAsync(
      UnifiedBuffer<A> source, UnifiedBuffer<A> destination) {
    memory.checkOpen();
    return destination.copyFromAsync(source);
  }

  @Override
  public TransferCalibration calibrate() {
    return memory.calibrate();
  }

  @Override
  public TransferStatistics statistics() {
    return memory.meter().statistics(memory.calibration());
  }
}
