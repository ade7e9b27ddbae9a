package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.interop.DLPackTensor;

/**
 * NumPy in the same process: it computes in the memory of a buffer, and a kernel computes in the
 * memory of an array. Bytes are copied only between an accelerator and the host.
 */
public final class NumPyExchange {
  private NumPyExchange() {}

  /** Runs the example; the argument is the number of elements, a million by default. */
  public static void main(String[] arguments) {
    int length = Check.size(arguments, 1_000_000);
    Python python =
        Python.get()
            .orElseThrow(() -> new IllegalStateException("install libpython3 and python3-numpy"));
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<float[]> x = memory.allocate(ElementType.FLOAT, length)) {
      memory.compile(KernelSource.elementwise("x = 2")).execute(Arguments.of("x", x));

      // Export: NumPy calls the deleter when its array is freed.
      DLPackExport out = DLPack.exportHostUnversioned(x, 2, length / 2);
      python.run("a = np.from_dlpack(Tensor(" + out.handOver() + "))");
      Check.that(python.number("a.sum()") == 2.0 * length, "NumPy sums what a kernel computed");
      boolean same = (long) python.number("a.ctypes.data") == x.asReadOnlySegment().address();
      Check.that(same, "NumPy's array is the host's copy of the buffer");
      python.run("del a");
      Check.that(out.isReleased(), "the buffer is free when NumPy's array is gone");

      // Import: the array lives until the tensor is closed.
      python.run("b = np.full(" + length + ", 3, np.float32)");
      try (DLPackTensor in = DLPack.openUnversioned(memory, python.tensor("b"))) {
        memory
            .compile(KernelSource.elementwise("b = b * x"))
            .execute(Arguments.of("b", in.buffer(ElementType.FLOAT), "x", x));
      }
      Check.that(python.number("b.sum()") == 6.0 * length, "a kernel computed in NumPy's array");
    }
  }
}
