package dev.tidepool.runtime.buffer;

import dev.tidepool.ElementType;
import dev.tidepool.host.MemoryOperations;
import dev.tidepool.link.HostRegion;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.StorageContext;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A conversion of structs to columns, or back.
 *
 * <p>Buffers whose newest bytes are on the host are read or written in place. Arrays of records,
 * and bytes that only a device has, pass through one staging block, which holds as many structs as
 * fit.
 *
 * @param context the context of the columns
 * @param type of the structs
 * @param structs where the structs are read or written
 * @param columns one for each primitive of the type
 * @param offset the first element in each column
 * @param count the number of structs
 * @param joins whether columns are converted to structs
 */
record SoaConversion(
    StorageContext context,
    ElementType<?> type,
    Structs structs,
    List<BufferHandle<?>> columns,
    long offset,
    long count,
    boolean joins) {

  /** Whole structs. */
  sealed interface Structs {
    /** At the start of a buffer. */
    record InBuffer(BufferHandle<?> buffer) implements Structs {}

    /** On the host: an array of records, or a buffer of another implementation. */
    record OnHost(HostRegion bytes) implements Structs {}
  }

  /** Copies bytes to or from a part of the staging block. */
  private interface StagedCopy {
    void copy(MemorySegment staged, long at);
  }

  /**
   * One side of a running conversion.
   *
   * @param elementBytes bytes of each element
   * @param direct all bytes, if the conversion may use them in place
   * @param staging else copies through the staging block
   */
  private record End(long elementBytes, @Nullable MemorySegment direct, StagedCopy staging) {
    static End direct(long elementBytes, MemorySegment bytes) {
      return new End(elementBytes, bytes, (staged, at) -> {});
    }

    static End staged(long elementBytes, StagedCopy staging) {
      return new End(elementBytes, null, staging);
    }

    long stagedBytes() {
      return direct == null ? elementBytes : 0;
    }
  }

  /**
   * Returns the conversion as an operation in the queues of all buffers.
   *
   * @throws IllegalArgumentException if the structs share bytes with a column
   */
  Operation operation() {
    List<ResourceAccess> uses = new ArrayList<>();
    if (structs instanceof Structs.InBuffer(BufferHandle<?> buffer)) {
      for (BufferHandle<?> column : columns) {
        if (column.storage() == buffer.storage()) {
          throw new IllegalArgumentException(
              buffer + " is a view of a component; give the structs a buffer of their own");
        }
      }
      uses.add(
          joins ? ResourceAccess.write(buffer.storage()) : ResourceAccess.read(buffer.storage()));
    }
    for (BufferHandle<?> column : columns) {
      uses.add(
          joins ? ResourceAccess.read(column.storage()) : ResourceAccess.write(column.storage()));
    }
    return context.transfer(
        uses,
        () -> {
          try {
            if (count > 0) {
              run();
            }
          } catch (RuntimeException | Error e) {
            throw Exceptions.transfer(e, "converting " + count + " of " + type);
          }
        });
  }

  /** Performs the operation and waits for its end. */
  void perform() {
    boolean here = columns.stream().allMatch(column -> column.storage().runsHere());
    if (structs instanceof Structs.InBuffer(BufferHandle<?> buffer)) {
      here &= buffer.storage().runsHere();
    }
    operation().perform(here);
  }

  private void run() {
    List<End> ends = new ArrayList<>();
    ends.add(structsEnd());
    columns.forEach(column -> ends.add(end(column, offset, !joins)));
    long each = ends.stream().mapToLong(End::stagedBytes).sum();
    if (each == 0) {
      convert(ends.stream().map(End::direct).toArray(MemorySegment[]::new));
      return;
    }
    long step = Math.min(count, Math.max(1, context.stagingChunk() / each));
    Lease lease = context.blocks().forStaging(step * each);
    try {
      MemorySegment block = lease.segment();
      // Earlier contents of the block must not leak through the padding of the structs.
      block.asSlice(0, joins ? step * ends.getFirst().stagedBytes() : 0).fill((byte) 0);
      for (long at = 0; at < count; at += step) {
        convert(ends, block, step, at);
      }
    } finally {
      lease.release();
    }
  }

  private End structsEnd() {
    return switch (structs) {
      case Structs.InBuffer(BufferHandle<?> buffer) -> end(buffer, 0, joins);
      case Structs.OnHost(HostRegion bytes) ->
          End.staged(
              type.byteSize(),
              joins
                  ? (staged, at) -> bytes.copyFrom(staged, at)
                  : (staged, at) -> bytes.copyTo(at, staged));
    };
  }

  private End end(BufferHandle<?> buffer, long first, boolean written) {
    Coherence coherence = buffer.storage().coherence();
    boolean shared = coherence.backing().isShared();
    long each = buffer.type().byteSize();
    long from = buffer.from() + first * each;
    long to = from + count * each;
    if (written) {
      return shared || coherence.writesOnHost()
          ? End.direct(each, coherence.targetOnHost(from, to).asSlice(from, to - from))
          : End.staged(
              each,
              (staged, at) -> coherence.copyIn(new HostRegion.Segment(staged, true), from + at));
    }
    return shared || coherence.state().hostHasNewest(from, to)
        ? End.direct(each, coherence.readable().asSlice(from, to - from))
        : End.staged(
            each,
            (staged, at) -> coherence.copyOut(from + at, new HostRegion.Segment(staged, true)));
  }

  /** Converts as many structs as fit into the staging block, from {@code at} on. */
  private void convert(List<End> ends, MemorySegment block, long step, long at) {
    long length = Math.min(step, count - at);
    MemorySegment[] parts = new MemorySegment[ends.size()];
    long used = 0;
    for (int i = 0; i < parts.length; i++) {
      End end = ends.get(i);
      long bytes = length * end.elementBytes;
      parts[i] =
          end.direct == null
              ? block.asSlice(used, bytes)
              : end.direct.asSlice(at * end.elementBytes, bytes);
      used += step * end.stagedBytes();
      if (isSource(i)) {
        end.staging.copy(parts[i], at * end.elementBytes);
      }
    }
    convert(parts);
    for (int i = 0; i < parts.length; i++) {
      if (!isSource(i)) {
        End end = ends.get(i);
        end.staging.copy(parts[i], at * end.elementBytes);
      }
    }
  }

  private boolean isSource(int end) {
    return (end == 0) != joins;
  }

  /** Converts the contents of segments: the first has the structs, the others the columns. */
  private void convert(MemorySegment[] parts) {
    MemorySegment[] arrays = Arrays.copyOfRange(parts, 1, parts.length);
    if (joins) {
      MemoryOperations.join(type, parts[0], arrays);
    } else {
      MemoryOperations.split(type, parts[0], arrays);
    }
  }
}
