package dev.tidepool.cpu;

import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import java.lang.foreign.MemorySegment;

/** A program that the CPU runs. It holds no resources. */
interface CpuProgram extends Program {
  /** The most items in a piece. */
  long ITEMS_PER_PIECE = 16 << 10;

  /** The fewest pieces for each thread, if there are enough groups. */
  long PIECES_PER_THREAD = 4;

  /** Runs the program. Returns when all items are done. */
  void run(Launch launch);

  static MemorySegment segment(KernelArgument.Array array) {
    return CpuQueue.bytes(array.block()).asSlice(array.offset(), array.bytes());
  }

  /** Returns the number of groups that a thread takes at a time. */
  static long grain(long groups, long groupItems) {
    // An item may take nanoseconds or seconds, so even a few items are divided among threads.
    long share = groups / (PIECES_PER_THREAD * CpuThreads.THREADS);
    return Math.clamp(share, 1, Math.max(1, ITEMS_PER_PIECE / groupItems));
  }

  @Override
  default void close() {}
}
