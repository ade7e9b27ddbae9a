package dev.tidepool.cpu;

import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import java.lang.foreign.MemorySegment;

/** Code that the CPU runs. It holds nothing that must be freed. */
interface CpuProgram extends Program {
  /** At most so many items in a piece. */
  long ITEMS_PER_PIECE = 16 << 10;

  /** Pieces that each thread takes at least, if there are so many groups. */
  long PIECES_PER_THREAD = 4;

  /** Runs it; returns when all items are done. */
  void run(Launch launch);

  static MemorySegment segment(KernelArgument.Array array) {
    return CpuQueue.bytes(array.block()).asSlice(array.offset(), array.bytes());
  }

  /** Returns how many groups a thread takes at a time. */
  static long grain(long groups, long groupItems) {
    // An item may take nanoseconds or seconds: few items are shared out too.
    long share = groups / (PIECES_PER_THREAD * CpuThreads.THREADS);
    return Math.clamp(share, 1, Math.max(1, ITEMS_PER_PIECE / groupItems));
  }

  @Override
  default void close() {}
}
