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
 * to. Gathering is the same the other way round, with a read behind the launches.
 *
 * <p>That memory is used again without waiting, because the commands of a queue run in order. The
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
    long targets = pieces.stream().map(Piece::block).distinct().limit(MOST_TARGETS + 1).count();
    return targets <= MOST_TARGETS
        && pieces.stream()
            .allMatch(
                piece ->
                    piece.block() instanceof BufferBlock block
                        && block.hostAccess() == HostAccess.NONE)
        && kernel.get().isPresent();
  }

  /** Enqueues the way to the pieces' places; there is at least one byte. */
  synchronized void scatter(Submission submission, MemorySegment staged, List<Piece> pieces) {
    try (AsBuffer source = onDevice(staged)) {
      if (!kernel.reachesHostMemory()) {
        submission.add(OpenCL.clEnqueueWriteBuffer(submission.queue(), source.buffer(), 0, staged));
      }
      launch(submission, source, pieces, false);
    }
  }

  /** Enqueues the way from there; there is at least one byte. */
  synchronized void gather(Submission submission, List<Piece> pieces, MemorySegment staged) {
    long queue = submission.queue();
    try (AsBuffer sink = onDevice(staged)) {
      launch(submission, sink, pieces, true);
      if (kernel.reachesHostMemory()) {
        // Not before it was mapped is what the kernel wrote there for the host to see.
        OpenCL.Mapping mapping =
            OpenCL.clEnqueueMapBuffer(queue, sink.buffer(), OpenCL.CL_MAP_READ, staged.byteSize());
        submission.add(mapping.event());
        submission.add(OpenCL.clEnqueueUnmapMemObject(queue, sink.buffer(), mapping.memory()));
      } else {
        submission.add(OpenCL.clEnqueueReadBuffer(queue, sink.buffer(), 0, staged));
      }
    }
  }

  private void launch(Submission submission, AsBuffer staged, List<Piece> pieces, boolean gathers) {
    Map<BufferBlock, List<long[]>> rows = new LinkedHashMap<>();
    for (Piece piece : pieces) {
      if (piece.bytes() > 0) { // A launch of no rows would be refused.
        addRows(
            rows.computeIfAbsent((BufferBlock) piece.block(), _ -> new ArrayList<>()),
            gathers ? piece.offset() : piece.from(),
            gathers ? piece.from() : piece.offset(),
            piece.bytes());
      }
    }
    CompiledKernel code = kernel.get().orElseThrow();
    code.<Void>borrowed(
        handle -> {
          launch(submission, code, handle, staged, rows, gathers);
          return null;
        });
  }

  private void launch(
      Submission submission,
      CompiledKernel code,
      long handle,
      AsBuffer staged,
      Map<BufferBlock, List<long[]>> rows,
      boolean gathers) {
    int stagedArgument = gathers ? 1 : 0;
    try (Arena arena = Arena.ofConfined();
        AsBuffer table = table(arena, rows)) {
      OpenCL.clSetKernelArg(handle, stagedArgument, arena.allocateFrom(JAVA_LONG, staged.buffer()));
      OpenCL.clSetKernelArg(handle, 2, arena.allocateFrom(JAVA_LONG, table.buffer()));
      long lanes = kernel.lanes(code);
      long first = 0;
      for (Map.Entry<BufferBlock, List<long[]>> block : rows.entrySet()) {
        OpenCL.clSetKernelArg(
            handle, 1 - stagedArgument, arena.allocateFrom(JAVA_LONG, block.getKey().buffer()));
        OpenCL.clSetKernelArg(handle, 3, arena.allocateFrom(JAVA_LONG, first));
        int groups = block.getValue().size();
        submission.add(
            OpenCL.clEnqueueNDRangeKernel(
                submission.queue(), handle, new long[] {groups * lanes}, new long[] {lanes}));
        first += groups;
      }
    }
  }

  private static void addRows(List<long[]> rows, long from, long to, long bytes) {
    for (long done = 0; done < bytes; done += ScatterKernel.ROW_BYTES) {
      long count = Math.min(ScatterKernel.ROW_BYTES, bytes - done);
      rows.add(new long[] {from + done, to + done, count});
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

  /** The staged bytes where they lie, if the device is a processor of the host; else room. */
  private AsBuffer onDevice(MemorySegment staged) {
    if (kernel.reachesHostMemory()) {
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
