package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.AcceleratorException;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.PieceRows;
import dev.tidepool.spi.support.PieceRows.Row;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The kernel that copies staged pieces to their places on the device, or back, compiled when a
 * device first needs it.
 *
 * <p>A kernel accesses page-locked memory of the host by its address, at the link's speed. It takes
 * about as long as one copy of all bytes, while the driver takes one to three microseconds for each
 * piece, one by one or in a batch.
 *
 * <p>Each block of threads copies one row. It copies words of 16 bytes if both ends have the same
 * alignment to such words, with single bytes before and after them; otherwise it copies single
 * bytes. The rows are an argument of the launch, so no memory has to be kept until the launch has
 * ended.
 *
 * <p>The monitor lets one thread compile; threads that wait for it need the kernel anyway.
 */
final class ScatterKernel {
  /** The most rows of one launch: arguments have 4 KiB. */
  static final int MOST_ROWS = 240;

  private static final int THREADS = 128;

  /**
   * The longs of a row: the offset in the staged bytes; and the offset in the block, with the
   * number of bytes in the 16 bits above it.
   */
  private static final long ROW_LONGS = 2;

  private static final int COUNT_SHIFT = 48;
  static final String ENTRY = "tidepool_scatter";
  static final String SOURCE =
      """
      struct Rows {
        unsigned long long words[2 * 240];
      };
      extern "C" __global__ void tidepool_scatter(unsigned char* staged, unsigned char* block,
                                                  const Rows rows, const int gathers) {
        const unsigned long long place = rows.words[2 * blockIdx.x + 1];
        const unsigned int bytes = place >> 48;
        unsigned char* here = staged + rows.words[2 * blockIdx.x];
        unsigned char* there = block + (place & 0xffffffffffff);
        const unsigned char* from = gathers ? there : here;
        unsigned char* to = gathers ? here : there;
        const unsigned int skew = (unsigned int)(unsigned long long)to & 15;
        const bool alike = ((unsigned int)(unsigned long long)from & 15) == skew;
        const unsigned int before = (16 - skew) & 15;
        const unsigned int head = alike && before < bytes ? before : bytes;
        const unsigned int words = (bytes - head) / 16;
        const uint4* source = (const uint4*)(from + head);
        uint4* sink = (uint4*)(to + head);
        for (unsigned int i = threadIdx.x; i < head; i += blockDim.x) to[i] = from[i];
        for (unsigned int i = threadIdx.x; i < words; i += blockDim.x) sink[i] = source[i];
        for (unsigned int i = head + words * 16 + threadIdx.x; i < bytes; i += blockDim.x)
          to[i] = from[i];
      }
      """;

  private final CudaDevice device;
  private boolean tried;
  private volatile @Nullable LoadedKernel loaded;

  /**
   * Creates a kernel that is not compiled yet.
   *
   * @param wanted whether the kernel may be used at all
   */
  ScatterKernel(CudaDevice device, boolean wanted) {
    this.device = device;
    this.tried = !wanted;
  }

  /**
   * Returns whether there is a kernel and it is worth launching for these pieces; compiles it
   * first. The kernel reaches only page-locked memory of the host.
   */
  boolean reaches(MemorySegment staged, List<Piece> pieces) {
    int blocks = PieceRows.blocksOf(pieces);
    return blocks <= PieceRows.MOST_BLOCKS
        && blocks * 2 < pieces.size()
        && DeviceMemory.LOCKED.contain(staged)
        && kernel().isPresent();
  }

  /** Returns the kernel; empty if it cannot be compiled. */
  private synchronized Optional<LoadedKernel> kernel() {
    if (!tried) {
      tried = true;
      try {
        byte[] code = device.compiler().compile(ENTRY, SOURCE, List.of());
        loaded = LoadedKernel.load(device, code, ENTRY);
      } catch (KernelCompilationException
          | AcceleratorException
          | UnsupportedOperationException refused) {
        FailureLog.ofDriver(
            ScatterKernel.class,
            Level.DEBUG,
            device.name(),
            " copies lists of small transfers without a kernel",
            refused);
      }
    }
    return Optional.ofNullable(loaded);
  }

  /**
   * Submits the copies to the pieces' places, or from them, if the kernel {@link #reaches} them.
   * The device's context is current, so this method takes no lock.
   */
  void submit(
      Submission submission,
      MemorySegment staged,
      List<Piece> pieces,
      boolean toDevice,
      long stream) {
    LoadedKernel kernel = Objects.requireNonNull(loaded, "a kernel that reaches the pieces");
    PieceRows.byBlock(pieces)
        .forEach(
            (block, rows) -> {
              for (int from = 0; from < rows.size(); from += MOST_ROWS) {
                List<Row> some = rows.subList(from, Math.min(rows.size(), from + MOST_ROWS));
                try (KernelArguments arguments = new KernelArguments(device, stream, submission)) {
                  arguments.addLong(staged.address());
                  arguments.addLong(((CudaBlock) block).requireDevices().address());
                  arguments.add(table(some, arguments.scratch()));
                  arguments.addInt(toDevice ? 0 : 1);
                  arguments.run(
                      kernel, new long[] {some.size(), 1, 1}, new long[] {THREADS, 1, 1}, 0);
                }
              }
            });
  }

  private static MemorySegment table(List<Row> rows, SegmentAllocator scratch) {
    MemorySegment table = scratch.allocate(JAVA_LONG, MOST_ROWS * ROW_LONGS);
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      table.setAtIndex(JAVA_LONG, i * ROW_LONGS, row.from());
      table.setAtIndex(JAVA_LONG, i * ROW_LONGS + 1, row.bytes() << COUNT_SHIFT | row.offset());
    }
    return table;
  }

  synchronized void close() {
    tried = true;
    LoadedKernel kernel = loaded;
    if (kernel != null && !Shutdown.hasBegun()) {
      kernel.close();
      loaded = null;
    }
  }
}
