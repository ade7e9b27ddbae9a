package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.AcceleratorException;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Shutdown;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The kernel that takes staged pieces to their places on the device or fetches them from there,
 * compiled when a device first needs it.
 *
 * <p>A kernel reaches page-locked memory of the host by its address, at the link's speed. It takes
 * about as long as one copy of all bytes, where the driver takes one to three microseconds for each
 * piece, one by one or in a batch.
 *
 * <p>Each block of threads copies one row: in words of 16 bytes where both ends lie the same way to
 * such a word, byte by byte before and behind them, and throughout where they do not. The rows are
 * an argument of the launch, so that nothing has to be kept until it has ended.
 *
 * <p>The monitor lets one thread compile; threads that wait for it need the kernel anyway.
 */
final class ScatterKernel {
  /** Bytes of a row at most, so that blocks of threads have work of like length. */
  static final long ROW_BYTES = 32 << 10;

  /** Rows of one launch at most: arguments have 4 KiB. */
  static final int MOST_ROWS = 240;

  /** Places in more allocations than that are more launches than copies would take. */
  private static final int MOST_TARGETS = 8;

  private static final int THREADS = 128;

  /** The place among the staged bytes, and the count of bytes in 16 bits above the other place. */
  private static final long ROW_LONGS = 2;

  private static final int COUNT_SHIFT = 48;
  private static final String ENTRY = "tidepool_scatter";
  private static final String SOURCE =
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
  private @Nullable LoadedKernel loaded;

  ScatterKernel(CudaDevice device) {
    this.device = device;
  }

  /** One piece of a row's length at most, within the allocation that it is in. */
  private record Row(long here, long there, long bytes) {}

  /** Whether there is a kernel and it is worth launching for these pieces; compiles it first. */
  boolean reaches(List<Piece> pieces) {
    long targets = pieces.stream().map(Piece::block).distinct().limit(MOST_TARGETS + 1).count();
    return targets <= MOST_TARGETS && targets * 2 < pieces.size() && kernel().isPresent();
  }

  /** The kernel; nothing where it cannot be compiled. */
  private synchronized Optional<LoadedKernel> kernel() {
    if (!tried) {
      tried = true;
      try {
        byte[] code = device.compiler().compile(ENTRY, SOURCE, List.of());
        loaded = LoadedKernel.load(device, code, ENTRY);
      } catch (KernelCompilationException
          | AcceleratorException
          | UnsupportedOperationException refused) {
        Log.write(
            ScatterKernel.class,
            Level.DEBUG,
            device.name() + " copies lists of small transfers without a kernel",
            refused);
      }
    }
    return Optional.ofNullable(loaded);
  }

  /** Submits the way to the pieces' places, or from there; the device's context is current. */
  void submit(
      Submission submission,
      MemorySegment staged,
      List<Piece> pieces,
      boolean toDevice,
      long stream) {
    LoadedKernel kernel = kernel().orElseThrow();
    rows(pieces)
        .forEach(
            (block, rows) -> {
              for (int from = 0; from < rows.size(); from += MOST_ROWS) {
                List<Row> some = rows.subList(from, Math.min(rows.size(), from + MOST_ROWS));
                submission.add(() -> launch(kernel, staged, block, some, toDevice, stream));
              }
            });
  }

  private static Map<CudaBlock, List<Row>> rows(List<Piece> pieces) {
    Map<CudaBlock, List<Row>> rows = new LinkedHashMap<>();
    for (Piece piece : pieces) {
      List<Row> target =
          rows.computeIfAbsent((CudaBlock) piece.block(), _ -> new ArrayList<>(pieces.size()));
      for (long done = 0; done < piece.bytes(); done += ROW_BYTES) {
        long bytes = Math.min(ROW_BYTES, piece.bytes() - done);
        target.add(new Row(piece.from() + done, piece.offset() + done, bytes));
      }
    }
    return rows;
  }

  private static void launch(
      LoadedKernel kernel,
      MemorySegment staged,
      CudaBlock block,
      List<Row> rows,
      boolean toDevice,
      long stream) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment table = arena.allocate(JAVA_LONG, MOST_ROWS * ROW_LONGS);
      for (int i = 0; i < rows.size(); i++) {
        Row row = rows.get(i);
        table.setAtIndex(JAVA_LONG, i * ROW_LONGS, row.here());
        table.setAtIndex(JAVA_LONG, i * ROW_LONGS + 1, row.bytes() << COUNT_SHIFT | row.there());
      }
      MemorySegment parameters =
          Cuda.pointers(
              arena,
              arena.allocateFrom(JAVA_LONG, staged.address()),
              arena.allocateFrom(JAVA_LONG, block.requireDevices().address()),
              table,
              arena.allocateFrom(JAVA_INT, toDevice ? 0 : 1));
      Cuda.cuLaunchKernel(
          kernel.function(),
          new long[] {rows.size(), 1, 1},
          new long[] {THREADS, 1, 1},
          0,
          stream,
          parameters);
    }
  }

  synchronized void close() {
    tried = true;
    if (loaded != null && !Shutdown.hasBegun()) {
      loaded.close();
      loaded = null;
    }
  }
}
