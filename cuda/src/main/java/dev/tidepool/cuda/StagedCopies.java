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
import org.jspecify.annotations.Nullable;

/**
 * Copies of one device between a staging block and many places, for pieces that no {@link
 * ScatterKernel} copies. The copies are one call of the driver if it has {@code
 * cuMemcpyBatchAsync}, else a call for each piece.
 *
 * <p>Sources of a batch are read in the stream's order. The other orders let the driver read them
 * earlier, before a kernel has written them. If the driver refuses a batch, its pieces are copied
 * one by one, whatever part of the batch was accepted, and the device gets no more batches.
 *
 * <p>Safe for use by any thread; holds no lock.
 */
final class StagedCopies {
  /** Whether batches are used. */
  enum Batches {
    /** If there is no kernel, and the driver is not known to fail. */
    AUTO,
    /** Whenever the driver has them; without a kernel. */
    ALWAYS,
    /** Never; without a kernel, too. */
    NONE
  }

  // Drivers crashed under 50,000 copies in one call (vllm issue 49276).
  private static final int MOST_IN_A_BATCH = 4096;

  private final String device;
  private final boolean wanted;
  // Looked up on first use: many processes never need it, and linking takes time.
  private volatile @Nullable MemorySegment function;

  /**
   * Creates the copies; makes no call.
   *
   * @param device its name, for messages
   * @param computeCapability the major number of the device's compute capability
   */
  StagedCopies(String device, int computeCapability, Batches batches) {
    this.device = device;
    // Drivers crash or hang with batches on some Blackwell devices (the same issue).
    this.wanted = batches == Batches.ALWAYS || (batches == Batches.AUTO && computeCapability < 10);
  }

  /** Returns the function that copies a number of staged pieces in one direction, for messages. */
  String command(MemorySegment staged, int pieces, boolean toDevice) {
    return usesBatches(staged, pieces)
        ? "cuMemcpyBatchAsync"
        : toDevice ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyDtoHAsync_v2";
  }

  /** Submits the copies; the device's context is current. */
  void submit(
      Submission submission,
      MemorySegment staged,
      List<Piece> pieces,
      boolean toDevice,
      long stream) {
    List<Piece> left = new ArrayList<>(pieces);
    left.removeIf(piece -> piece.bytes() == 0);
    while (usesBatches(staged, left.size())) {
      List<Piece> batch = left.subList(0, Math.min(left.size(), MOST_IN_A_BATCH));
      // Copies of a refused batch may have started.
      submission.mayHaveBegun();
      if (!accepts(staged, batch, toDevice, stream)) {
        break;
      }
      batch.clear();
    }
    for (Piece piece : left) {
      MemorySegment host = staged.asSlice(piece.from(), piece.bytes());
      long there = address(piece);
      submission.add(
          toDevice
              ? () -> Cuda.cuMemcpyHtoDAsync(there, host, stream)
              : () -> Cuda.cuMemcpyDtoHAsync(host, there, stream));
    }
  }

  /**
   * Returns whether batches are used. Pageable memory is copied piece by piece: the driver may not
   * accept it in a batch.
   */
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

  private boolean accepts(MemorySegment staged, List<Piece> batch, boolean toDevice, long stream) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment here = arena.allocate(JAVA_LONG, batch.size());
      MemorySegment there = arena.allocate(JAVA_LONG, batch.size());
      MemorySegment sizes = arena.allocate(JAVA_LONG, batch.size());
      for (int i = 0; i < batch.size(); i++) {
        Piece piece = batch.get(i);
        here.setAtIndex(JAVA_LONG, i, staged.asSlice(piece.from(), piece.bytes()).address());
        there.setAtIndex(JAVA_LONG, i, address(piece));
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

  /** Returns the address of a piece on the device. */
  private static long address(Piece piece) {
    return ((CudaBlock) piece.block()).requireDevices().address() + piece.offset();
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
