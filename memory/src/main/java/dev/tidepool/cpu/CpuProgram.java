package dev.tidepool.cpu;

import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import java.lang.foreign.MemorySegment;

/** Code that the CPU runs. It holds nothing that must be freed. */
interface CpuProgram extends Program {
  /** Runs it; returns when all items are done. */
  void run(Launch launch);

  /** The bytes of an array argument. */
  static MemorySegment segment(KernelArgument.Array array) {
    return CpuQueue.bytes(array.block()).asSlice(array.offset(), array.bytes());
  }

  @Override
  default void close() {}
}
