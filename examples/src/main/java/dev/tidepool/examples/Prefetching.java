package dev.tidepool.examples;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;

/**
 * Unified memory with hints: bytes are copied to the device before the kernel uses them, and back
 * before the host does. The results are the same without the hints.
 */
public final class Prefetching {
  private Prefetching() {}

  /** Runs the example; the argument is the number of elements, 1,000,000 by default. */
  public static void main(String[] arguments) {
    int length = Check.size(arguments, 1_000_000);
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      boolean unified = memory.accelerator().capabilities().contains(Capability.UNIFIED_MEMORY);
      Allocation allocation =
          Allocation.at(unified ? MemoryLocation.UNIFIED : MemoryLocation.DEVICE).mostlyDevice();
      try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, length, allocation)) {
        int[] values = new int[length];
        for (int i = 0; i < length; i++) {
          values[i] = i;
        }
        buffer.copyFrom(values);
        buffer.prefetchToDevice();
        memory.compile(KernelSource.elementwise("x = x * x")).execute(Arguments.of("x", buffer));
        buffer.prefetchToHost();
        buffer.copyTo(values);
        boolean right = true;
        for (int i = 0; i < length; i++) {
          right &= values[i] == i * i;
        }
        Check.that(right, length + " squares came back from " + allocation.location());
      }
    }
  }
}
