package dev.tidepool.opencl;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Piece;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The scattering of one queue: one write of the staged bytes to memory of its own, which a device
 * that is a processor of the host does without, and one launch for each buffer object that they go
 * to.
 *
 * <p>That memory is used again without waiting, for the commands of a queue run in order. The
 * monitor keeps the commands of two threads apart; nothing waits under it.
 */
final class Scatter implements AutoCloseable {
  /** More buffer objects than that are more launches than writes would take. */
  private static final int MOST_TARGETS = 8;

  private final ScatterKernel kernel;
  private final Context context;
  private @Nullable AsBuffer memory;
  private long size;

  Scatter(ScatterKernel kernel, Context context) {
    this.kernel = kernel;
    this.context = context;
  }

  /** Whether there is a kernel and it reaches all the places; compiles it first. */
  boolean reaches(List<Piece> pieces) {
    long targets =
        pieces.stream().map(Piece::destination).distinct().limit(MOST_TARGETS + 1).count();
    return targets <= MOST_TARGETS
        && pieces.stream()
            .allMatch(
                piece ->
                    piece.destination() instanceof BufferBlock block
                        && block.hostAccess() == HostAccess.NONE)
        && kernel.get().isPresent();
  }

  /** Enqueues; there is at least one byte. */
  synchronized void enqueue(Submission submission, MemorySegment staged, List<Piece> pieces) {
    Map<BufferBlock, List<long[]>> rows = new LinkedHashMap<>();
    pieces.forEach(
        piece ->
            addRows(
                rows.computeIfAbsent((BufferBlock) piece.destination(), _ -> new ArrayList<>()),
                piece));
    CompiledKernel code = kernel.get().orElseThrow();
    long queue = submission.queue();
    long handle = code.borrow();
    try (Arena arena = Arena.ofConfined();
        AsBuffer source = onDevice(submission, staged);
        AsBuffer table = table(arena, rows)) {
      OpenCL.clSetKernelArg(handle, 0, arena.allocateFrom(JAVA_LONG, source.buffer()));
      OpenCL.clSetKernelArg(handle, 2, arena.allocateFrom(JAVA_LONG, table.buffer()));
      long lanes = kernel.lanes(code);
      long first = 0;
      for (Map.Entry<BufferBlock, List<long[]>> target : rows.entrySet()) {
        OpenCL.clSetKernelArg(handle, 1, arena.allocateFrom(JAVA_LONG, target.getKey().buffer()));
        OpenCL.clSetKernelArg(handle, 3, arena.allocateFrom(JAVA_LONG, first));
        int groups = target.getValue().size();
        submission.add(
            OpenCL.clEnqueueNDRangeKernel(
                queue, handle, new long[] {groups * lanes}, new long[] {lanes}));
        first += groups;
      }
    } finally {
      code.giveBack(handle);
    }
  }

  private static void addRows(List<long[]> rows, Piece piece) {
    for (long done = 0; done < piece.bytes(); done += ScatterKernel.ROW_BYTES) {
      long count = Math.min(ScatterKernel.ROW_BYTES, piece.bytes() - done);
      rows.add(new long[] {piece.from() + done, piece.offset() + done, count});
    }
  }

  private AsBuffer table(Arena arena, Map<BufferBlock, List<long[]>> rows) {
    long count = rows.values().stream().mapToLong(List::size).sum();
    MemorySegment table = arena.allocate(JAVA_LONG, count * ScatterKernel.ROW_LONGS);
    long at = 0;
    for (List<long[]> target : rows.values()) {
      for (long[] row : target) {
        MemorySegment.copy(row, 0, table, JAVA_LONG, at, row.length);
        at += (long) row.length * Long.BYTES;
      }
    }
    return AsBuffer.copyOf(context, table);
  }

  /** The staged bytes where they lie, if the device is a processor of the host; else a copy. */
  private AsBuffer onDevice(Submission submission, MemorySegment staged) {
    if (kernel.readsHostMemory()) {
      return AsBuffer.over(context, staged);
    }
    long bytes = staged.byteSize();
    if (memory == null || size < bytes) {
      AsBuffer larger = AsBuffer.fresh(context, bytes);
      if (memory != null) {
        memory.close();
      }
      memory = larger;
      size = bytes;
    }
    submission.add(OpenCL.clEnqueueWriteBuffer(submission.queue(), memory.buffer(), 0, staged));
    return new AsBuffer(memory.buffer(), false);
  }

  @Override
  public synchronized void close() {
    if (memory != null) {
      memory.close();
      memory = null;
    }
  }
}
