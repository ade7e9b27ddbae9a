package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A staging pipeline: while the device copies one batch from page-locked memory and computes, the
 * host writes the next batch to the other staging buffer.
 */
public final class StagingPipeline {
  private static final int BATCH = 16_384;

  private StagingPipeline() {}

  /** Runs the example; the argument is the number of batches, 200 by default. */
  public static void main(String[] arguments) {
    int batches = Check.size(arguments, 200);
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<float[]> total = memory.copyOf(new float[BATCH])) {
      Kernel add = memory.compile(KernelSource.elementwise("total = total + x * x"));
      List<UnifiedBuffer<float[]>> staging = new ArrayList<>();
      List<UnifiedBuffer<float[]>> device = new ArrayList<>();
      List<CompletableFuture<Void>> done = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        staging.add(memory.allocate(ElementType.FLOAT, BATCH, MemoryLocation.PINNED));
        device.add(memory.allocate(ElementType.FLOAT, BATCH));
        done.add(CompletableFuture.completedFuture(null));
      }
      for (int batch = 0; batch < batches; batch++) {
        int turn = batch % 2;
        done.get(turn).join(); // before this, the device may read the staging buffer
        load(batch, staging.get(turn));
        // The kernel follows the copy, because both use the same buffer; no thread waits here.
        CompletableFuture<Void> copied = device.get(turn).copyFromAsync(staging.get(turn));
        CompletableFuture<Void> added =
            add.executeAsync(Arguments.of("x", device.get(turn), "total", total));
        done.set(turn, CompletableFuture.allOf(copied, added));
      }
      done.forEach(CompletableFuture::join);
      staging.forEach(UnifiedBuffer::close);
      device.forEach(UnifiedBuffer::close);

      float[] sums = new float[BATCH];
      total.copyTo(sums);
      float[] expected = new float[BATCH];
      for (int batch = 0; batch < batches; batch++) {
        for (int i = 0; i < BATCH; i++) {
          expected[i] = expected[i] + value(batch, i) * value(batch, i);
        }
      }
      Check.that(
          Arrays.equals(sums, expected),
          batches + " overlapped batches were added up in their order, none lost");
    }
  }

  private static void load(int batch, UnifiedBuffer<float[]> staging) {
    try (HostMapping mapping = staging.map(MapMode.WRITE)) {
      for (int i = 0; i < BATCH; i++) {
        mapping.segment().setAtIndex(ValueLayout.JAVA_FLOAT, i, value(batch, i));
      }
    }
  }

  private static float value(int batch, int i) {
    return batch % 10 + 0.25f * (i % 8);
  }
}
