package dev.tidepool.host;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Segment loops without the Vector API, for large segments: element by element through direct
 * buffers. What is read and written where it lies overlaps with the waiting for memory, while of
 * the copies to and from blocks of the heap one waits for the other.
 *
 * <p>In the caches blocks of the heap are faster, for Java 25 makes vector code of loops over
 * arrays and not of these. A buffer ends with its segment, as safely.
 */
final class BufferLoops implements SegmentLoops {
  /** Below, elements are likely to be in a cache. */
  static final long FEWEST_ELEMENTS = 1 << 20;

  /** Elements of one call of a loop, so that it runs as compiled as soon as it is. */
  private static final int ELEMENTS_AT_ONCE = 1 << 16;

  /** What one loop is. */
  private record Kind(Primitive from, Primitive to) {}

  private final Map<Kind, BufferMap.Loop> loops = new ConcurrentHashMap<>();
  private final WordTransposition transposition = new WordTransposition();

  @Override
  public long convert(
      Primitive from, MemorySegment source, Primitive to, MemorySegment target, long count) {
    return BufferMap.converts(from, to) ? map(from, source, to, target, count) : 0;
  }

  @Override
  public long swapBytes(Primitive type, MemorySegment source, MemorySegment target, long count) {
    return type.bytes() >= Integer.BYTES ? map(type, source, type, target, count) : 0;
  }

  private long map(
      Primitive from, MemorySegment source, Primitive to, MemorySegment target, long count) {
    if (count < FEWEST_ELEMENTS) {
      return 0;
    }
    BufferMap.Loop loop =
        loops.computeIfAbsent(new Kind(from, to), kind -> BufferMap.of(kind.from, kind.to));
    // Read-only buffers are of a class of their own; a loop that meets one class is faster.
    MemorySegment read = source.asReadOnly();
    long whole = count - count % BufferMap.STEP;
    for (long first = 0; first < whole; first += ELEMENTS_AT_ONCE) {
      int length = (int) Math.min(ELEMENTS_AT_ONCE, whole - first);
      loop.run(part(from, read, first, length), part(to, target, first, length), length);
    }
    return whole;
  }

  private static MemorySegment part(Primitive type, MemorySegment segment, long first, int length) {
    return segment.asSlice(first * type.bytes(), (long) length * type.bytes());
  }

  /** A part of a segment, of at most 1 GiB. */
  static ByteBuffer bytes(MemorySegment segment, long offset, long bytes) {
    return segment.asSlice(offset, bytes).asByteBuffer().order(ByteOrder.nativeOrder());
  }

  /** None: the order of their sums asks for blocks. */
  @Override
  public long fold(
      Fold fold,
      Primitive type,
      MemorySegment left,
      @Nullable MemorySegment right,
      long first,
      long count,
      Object lanes) {
    return 0;
  }

  @Override
  public long split(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment structs,
      MemorySegment[] columns,
      long count) {
    return transposition.move(structBytes, members, structs, columns, count, false);
  }

  @Override
  public long join(
      int structBytes,
      List<StructFields.Member> members,
      MemorySegment[] columns,
      MemorySegment structs,
      long count) {
    return transposition.move(structBytes, members, structs, columns, count, true);
  }
}
