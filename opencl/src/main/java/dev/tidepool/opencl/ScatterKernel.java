package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import dev.tidepool.KernelCompilationException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The kernel that copies staged pieces to their places, or back, compiled when a device first needs
 * it.
 *
 * <p>Each group of work items copies one row. It copies words of 16 bytes if both ends have the
 * same alignment to such words, with single bytes before and after them; otherwise it copies single
 * bytes. The monitor lets one thread compile; threads that wait for it need the kernel anyway.
 */
final class ScatterKernel implements AutoCloseable {
  /**
   * The longs of a row: the offset of its source, the offset of its target, and its number of
   * bytes.
   */
  static final int ROW_LONGS = 3;

  private static final String ENTRY = "tidepool_scatter";
  private static final String SOURCE =
      """
      __kernel void tidepool_scatter(__global const uchar *origin, __global uchar *target,
                                     __global const ulong *rows, const ulong first) {
        __global const ulong *row = rows + 3 * (first + get_group_id(0));
        __global const uchar *from = origin + row[0];
        __global uchar *to = target + row[1];
        const ulong bytes = row[2];
        const ulong lane = get_local_id(0);
        const ulong lanes = get_local_size(0);
        const int alike = ((row[0] ^ row[1]) & 15) == 0;
        const ulong head = alike ? min(bytes, (16 - (row[1] & 15)) & 15) : bytes;
        const ulong words = (bytes - head) / 16;
        __global const uint4 *source = (__global const uint4 *)(from + head);
        __global uint4 *sink = (__global uint4 *)(to + head);
        for (ulong i = lane; i < head; i += lanes) to[i] = from[i];
        for (ulong i = lane; i < words; i += lanes) sink[i] = source[i];
        for (ulong i = head + words * 16 + lane; i < bytes; i += lanes) to[i] = from[i];
      }
      """;

  /** Work items of a group on a device that runs them in parallel. */
  private static final long LANES = 64;

  private final OpenClDevice device;
  private final boolean isCpu;
  private boolean tried;
  private @Nullable CompiledKernel compiled;

  /**
   * Creates the kernel of a device, which is not compiled yet.
   *
   * @param isCpu whether the device is a processor of the host
   */
  ScatterKernel(OpenClDevice device, boolean isCpu) {
    this.device = device;
    this.isCpu = isCpu;
  }

  /** Returns the kernel; empty if the driver refuses it. */
  synchronized Optional<CompiledKernel> get() {
    if (!tried) {
      tried = true;
      try {
        compiled = CompiledKernel.compile(device, SOURCE, ENTRY, "");
      } catch (KernelCompilationException | AcceleratorException refused) {
        System.getLogger(ScatterKernel.class.getName())
            .log(
                System.Logger.Level.INFO,
                device.name() + " scatters by one write for each piece",
                refused);
      }
    }
    return Optional.ofNullable(compiled);
  }

  /** Returns the work items of one group: a processor's core copies a row alone. */
  long lanes(CompiledKernel kernel) {
    return isCpu ? 1 : Math.min(LANES, kernel.maxGroup());
  }

  /** Returns whether staged bytes need no copy on the device. */
  boolean reachesHostMemory() {
    return isCpu;
  }

  @Override
  public synchronized void close() {
    tried = true;
    if (compiled != null) {
      compiled.close();
      compiled = null;
    }
  }
}
