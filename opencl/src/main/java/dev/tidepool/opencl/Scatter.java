package dev.tidepool.opencl;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.support.PieceRows;
import dev.tidepool.spi.support.PieceRows.Row;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The scattering and gathering of one queue. Scattering is one write of the staged bytes to a
 * buffer of this class, and one launch for each buffer object that receives bytes. A device that is
 * a processor of the host needs no write. Gathering is the reverse, with a read after the launches.
 *
 * <p>The buffer is reused without waiting, because the commands of a queue run in order. The
 * monitor keeps the commands of two threads apart; no command is awaited under it.
 */
final class Scatter implements AutoCloseable {
  private final ScatterKernel kernel;
  private final Context context;
  private @Nullable AsBuffer memory;
  private long size;

  Scatter(ScatterKernel kernel, Context context) {
    this.kernel = kernel;
    this.context = context;
  }

  /** Returns whether there is a kernel that reaches all the pieces; compiles it first. */
  boolean reaches(List<Piece> pieces) {
    return PieceRows.blocksOf(pieces) <= PieceRows.MOST_BLOCKS
        && pieces.stream()
            .allMatch(
                piece ->
                    piece.block() instanceof BufferBlock block
                        && block.hostAccess() == HostAccess.NONE)
        && kernel.get().isPresent();
  }

  /** Enqueues the copies to the pieces; there is at least one byte. */
  synchronized void scatter(Submission submission, MemorySegment staged, List<Piece> pieces) {
    try (AsBuffer source = onDevice(staged)) {
      if (!kernel.reachesHostMemory()) {
        submission.add(OpenCL.clEnqueueWriteBuffer(submission.queue(), source.buffer(), 0, staged));
      }
      launch(submission, source, pieces, false);
    }
  }

  /** Enqueues the copies from the pieces; there is at least one byte. */
  synchronized void gather(Submission submission, List<Piece> pieces, MemorySegment staged) {
    long queue = submission.queue();
    try (AsBuffer sink = onDevice(staged)) {
      launch(submission, sink, pieces, true);
      if (kernel.reachesHostMemory()) {
        // The host sees what the kernel wrote there only after a mapping.
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
    Map<Block, List<Row>> rows = PieceRows.byBlock(pieces);
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
      Map<Block, List<Row>> rows,
      boolean gathers) {
    int stagedArgument = gathers ? 1 : 0;
    try (Arena arena = Arena.ofConfined();
        AsBuffer table = table(arena, rows.values(), gathers)) {
      OpenCL.clSetKernelArg(handle, stagedArgument, arena.allocateFrom(JAVA_LONG, staged.buffer()));
      OpenCL.clSetKernelArg(handle, 2, arena.allocateFrom(JAVA_LONG, table.buffer()));
      long lanes = kernel.lanes(code);
      long first = 0;
      for (Map.Entry<Block, List<Row>> block : rows.entrySet()) {
        long buffer = ((BufferBlock) block.getKey()).buffer();
        OpenCL.clSetKernelArg(handle, 1 - stagedArgument, arena.allocateFrom(JAVA_LONG, buffer));
        OpenCL.clSetKernelArg(handle, 3, arena.allocateFrom(JAVA_LONG, first));
        int groups = block.getValue().size();
        submission.add(
            OpenCL.clEnqueueNDRangeKernel(
                submission.queue(), handle, new long[] {groups * lanes}, new long[] {lanes}));
        first += groups;
      }
    }
  }

  private AsBuffer table(Arena arena, Collection<List<Row>> rows, boolean gathers) {
    long count = rows.stream().mapToLong(List::size).sum();
    MemorySegment table = arena.allocate(JAVA_LONG, count * ScatterKernel.ROW_LONGS);
    long at = 0;
    for (List<Row> block : rows) {
      for (Row row : block) {
        table.setAtIndex(JAVA_LONG, at, gathers ? row.offset() : row.from());
        table.setAtIndex(JAVA_LONG, at + 1, gathers ? row.from() : row.offset());
        table.setAtIndex(JAVA_LONG, at + 2, row.bytes());
        at += ScatterKernel.ROW_LONGS;
      }
    }
    return AsBuffer.copyOf(context, table);
  }

  /**
   * Returns the staged bytes in place, if the device is a processor of the host; otherwise a buffer
   * on the device.
   */
  private AsBuffer onDevice(MemorySegment staged) {
    if (kernel.reachesHostMemory()) {
      return AsBuffer.over(context, staged);
    }
    long bytes = staged.byteSize();
    if (memory == null || size < bytes) {
      AsBuffer smaller = memory;
      memory = AsBuffer.fresh(context, bytes);
      size = bytes;
      if (smaller != null) {
        smaller.close();
      }
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
