package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.support.FailureLog;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Copies of one device between a staging block and many places, where no {@link ScatterKernel} does
 * them: by one call of the driver where it has {@code cuMemcpyBatchAsync}, else by a call for each.
 *
 * <p>Sources of a batch are read in the stream's order. The other orders let the driver read them
 * before: what a kernel still writes would be copied too early. A batch that the driver refuses is
 * copied piece by piece, whatever part of it was accepted, and the device is asked for no more
 * batches.
 *
 * <p>Safe for use by any thread; holds no lock.
 */
final class StagedCopies {
  /** Whether batches are used. */
  enum Batches {
    /** Where there is no kernel, and no driver is known that goes wrong. */
    AUTO,
    /** Wherever the driver has them, and no kernel. */
    ALWAYS,
    /** Never, and no kernel either. */
    NONE
  }

  // Drivers crashed under 50,000 copies in one call (vllm issue 49276).
  private static final int MOST_IN_A_BATCH = 4096;

  private final String device;
  private final boolean wanted;
  // Looked up at the first use: many a process has none, and linking takes time.
  private volatile @Nullable MemorySegment function;

  /**
   * Makes no call.
   *
   * @param device its name, for messages
   * @param computeCapability the major number of the device's
   */
  StagedCopies(String device, int computeCapability, Batches batches) {
    this.device = device;
    // Drivers crash or hang with batches on some Blackwell devices (the same issue).
    this.wanted = batches == Batches.ALWAYS || (batches == Batches.AUTO && computeCapability < 10);
  }

  /** Returns the function that copies so many pieces of staged bytes one way, for messages. */
  String command(MemorySegment staged, int pieces, boolean toDevice) {
    return usesBatches(staged, pieces)
        ? "cuMemcpyBatchAsync"
        : toDevice ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyDtoHAsync_v2";
  }

  /**
   * Submits the copies; the device's context is current.
   *
   * @param address where a piece is on the device
   */
  void submit(
      Submission submission,
      MemorySegment staged,
      List<Piece> pieces,
      ToLongFunction<Piece> address,
      boolean toDevice,
      long stream) {
    List<Piece> left = new ArrayList<>(pieces);
    left.removeIf(piece -> piece.bytes() == 0);
    while (usesBatches(staged, left.size())) {
      List<Piece> batch = left.subList(0, Math.min(left.size(), MOST_IN_A_BATCH));
      // Copies of a batch may be under way though it was refused.
      submission.mayHaveBegun();
      if (!accepts(staged, batch, address, toDevice, stream)) {
        break;
      }
      batch.clear();
    }
    for (Piece piece : left) {
      MemorySegment host = staged.asSlice(piece.from(), piece.bytes());
      long there = address.applyAsLong(piece);
      submission.add(
          toDevice
              ? () -> Cuda.cuMemcpyHtoDAsync(there, host, stream)
              : () -> Cuda.cuMemcpyDtoHAsync(host, there, stream));
    }
  }

  /** Pageable memory is copied as before: the driver may not take it in a batch. */
  private boolean usesBatches(MemorySegment staged, int pieces) {
    return wanted
        && pieces > 1
        && DeviceMemory.LOCKED.contain(staged)
        && !function().equals(MemorySegment.NULL);
  }

  private MemorySegment function() {
    MemorySegment known = function;
    if (known == null) {
      try {
        known = BatchedCopyCalls.find();
      } catch (AcceleratorException refused) {
        known = MemorySegment.NULL;
        without(refused);
      }
      function = known;
    }
    return known;
  }

  private boolean accepts(
      MemorySegment staged,
      List<Piece> batch,
      ToLongFunction<Piece> address,
      boolean toDevice,
      long stream) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment here = arena.allocate(JAVA_LONG, batch.size());
      MemorySegment there = arena.allocate(JAVA_LONG, batch.size());
      MemorySegment sizes = arena.allocate(JAVA_LONG, batch.size());
      for (int i = 0; i < batch.size(); i++) {
        Piece piece = batch.get(i);
        here.setAtIndex(JAVA_LONG, i, staged.asSlice(piece.from(), piece.bytes()).address());
        there.setAtIndex(JAVA_LONG, i, address.applyAsLong(piece));
        sizes.setAtIndex(JAVA_LONG, i, piece.bytes());
      }
      int code =
          BatchedCopyCalls.cuMemcpyBatchAsync(
              function(), toDevice ? there : here, toDevice ? here : there, sizes, stream, arena);
      if (code != ErrorCodes.CUDA_SUCCESS) {
        function = MemorySegment.NULL;
        without(NativeCall.failure("cuMemcpyBatchAsync", code));
        return false;
      }
      return true;
    }
  }

  private void without(AcceleratorException refused) {
    FailureLog.ofDriver(
        StagedCopies.class,
        Level.INFO,
        device,
        " goes on without batched copies, which its driver refused",
        refused);
  }
}
