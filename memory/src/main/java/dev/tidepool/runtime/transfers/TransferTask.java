package dev.tidepool.runtime.transfers;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.link.HostRegion;
import dev.tidepool.link.TransferContext;
import dev.tidepool.runtime.buffer.BufferCopy;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.buffer.ForeignBytes;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.runtime.buffer.SmallTransfer;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.order.RetryPolicy;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.spi.support.SegmentAccess;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferProgress;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One pair of a list of transfers, checked and ready to be submitted.
 *
 * @param uses the storages whose queues it enters
 * @param bytes the number of bytes
 * @param what the description for an error, made only then
 * @param move moves the bytes; called when the operation runs
 * @param sent computes the checksum of the source
 * @param arrived computes the checksum of the destination
 * @param smallTransfer the part that may be combined with others; null if it runs alone
 */
record TransferTask(
    List<ResourceAccess> uses,
    long bytes,
    Supplier<String> what,
    Runnable move,
    LongSupplier sent,
    LongSupplier arrived,
    @Nullable SmallTransfer smallTransfer) {

  /**
   * Checks a pair and returns its task.
   *
   * @param context of the manager whose threads copy if no buffer of this library takes part
   * @throws RuntimeException if the pair cannot be transferred
   */
  static TransferTask of(StorageContext context, Transfer<?> transfer, TransferOptions options) {
    return switch (transfer) {
      case Transfer.FromArray<?> pair -> fromArray(context, pair, options);
      case Transfer.ToArray<?> pair -> toArray(context, pair, options);
      case Transfer.FromSegment<?>(MemorySegment source, UnifiedBuffer<?> destination) -> {
        checkShared(source);
        yield inward(context, new HostRegion.Segment(source, false), destination, options);
      }
      case Transfer.ToSegment<?>(UnifiedBuffer<?> source, MemorySegment destination) ->
          toSegment(context, source, destination, options);
      case Transfer.BetweenBuffers<?>(UnifiedBuffer<?> source, UnifiedBuffer<?> destination) ->
          between(context, source, destination, options);
    };
  }

  private static <A> TransferTask fromArray(
      StorageContext context, Transfer.FromArray<A> pair, TransferOptions options) {
    ElementType<A> type = pair.destination().elementType();
    int count = type.length(pair.source());
    HostRegion source = new HostRegion.Elements<>(type, pair.source(), 0, count);
    return inward(context, source, pair.destination(), options);
  }

  private static TransferTask inward(
      StorageContext context,
      HostRegion source,
      UnifiedBuffer<?> destination,
      TransferOptions options) {
    if (!(destination instanceof BufferHandle<?> target)) {
      long bytes = source.byteSize();
      checkRoom(bytes, destination.byteSize(), "the destination, " + destination + ",");
      MemorySegment front = ForeignBytes.of(destination, true).asSlice(0, bytes);
      return onHost(
          context,
          destination.elementType(),
          source,
          new HostRegion.Segment(front, false),
          () -> source.copyTo(0, front));
    }
    return inward(source, target, options);
  }

  /** Copies between regions of the host that belong to no queue. */
  private static TransferTask onHost(
      StorageContext context,
      ElementType<?> type,
      HostRegion source,
      HostRegion destination,
      Runnable copy) {
    long bytes = source.byteSize();
    type.elements(bytes);
    return new TransferTask(
        List.of(),
        bytes,
        () -> "copying " + bytes + " bytes of the host",
        copy,
        () -> Checksum.of(type, context, source),
        () -> Checksum.of(type, context, destination),
        null);
  }

  private static TransferTask inward(
      HostRegion source, BufferHandle<?> target, TransferOptions options) {
    long bytes = source.byteSize();
    ElementType<?> type = target.elementType();
    type.elements(bytes);
    checkRoom(bytes, target.byteSize(), "the destination, " + target + ",");
    Storage storage = target.storage();
    long at = target.from();
    return new TransferTask(
        List.of(ResourceAccess.write(storage)),
        bytes,
        () -> "copying " + bytes + " bytes to " + target,
        () -> storage.coherence().copyIn(source, at),
        () -> Checksum.of(type, storage.context(), source),
        () -> Checksum.of(type, storage, at, bytes),
        mayGoWithOthers(bytes, options)
            ? SmallTransfer.in(storage, source, at, options.priority())
            : null);
  }

  private static <A> TransferTask toArray(
      StorageContext context, Transfer.ToArray<A> pair, TransferOptions options) {
    UnifiedBuffer<A> source = pair.source();
    ElementType<A> type = source.elementType();
    int room = type.length(pair.destination());
    checkRoom(source.byteSize(), room * type.byteSize(), "the array");
    int count = Math.toIntExact(source.length());
    HostRegion target = new HostRegion.Elements<>(type, pair.destination(), 0, count);
    return outward(context, source, target, options);
  }

  private static TransferTask toSegment(
      StorageContext context,
      UnifiedBuffer<?> source,
      MemorySegment destination,
      TransferOptions options) {
    checkShared(destination);
    if (destination.isReadOnly()) {
      throw new IllegalArgumentException("the destination is a read-only segment");
    }
    checkRoom(source.byteSize(), destination.byteSize(), "the segment");
    MemorySegment front = destination.asSlice(0, source.byteSize());
    return outward(context, source, new HostRegion.Segment(front, false), options);
  }

  private static TransferTask outward(
      StorageContext context, UnifiedBuffer<?> buffer, HostRegion target, TransferOptions options) {
    if (!(buffer instanceof BufferHandle<?> source)) {
      MemorySegment bytes = ForeignBytes.of(buffer, false);
      return onHost(
          context,
          buffer.elementType(),
          new HostRegion.Segment(bytes, false),
          target,
          () -> target.copyFrom(bytes, 0));
    }
    return outward(source, target, options);
  }

  private static TransferTask outward(
      BufferHandle<?> source, HostRegion target, TransferOptions options) {
    ElementType<?> type = source.elementType();
    Storage storage = source.storage();
    long at = source.from();
    long bytes = source.bytes();
    return new TransferTask(
        List.of(ResourceAccess.read(storage)),
        bytes,
        () -> "copying " + source + " out",
        () -> storage.coherence().copyOut(at, target),
        () -> Checksum.of(type, storage, at, bytes),
        () -> Checksum.of(type, storage.context(), target),
        mayGoWithOthers(bytes, options)
            ? SmallTransfer.out(storage, target, at, options.priority())
            : null);
  }

  /** Returns whether the transfer may be combined: it is small, or has default options. */
  private static boolean mayGoWithOthers(long bytes, TransferOptions options) {
    boolean asUsual =
        options.pipelining()
            && options.chunkSize() == 0
            && options.maxConcurrency() != 1
            && options.progress().equals(TransferProgress.NONE);
    return options.pinned() && !options.verified() && (bytes <= SmallTransfer.SMALL || asUsual);
  }

  private static TransferTask between(
      StorageContext context,
      UnifiedBuffer<?> source,
      UnifiedBuffer<?> target,
      TransferOptions options) {
    ElementType<?> type = source.elementType();
    if (!type.equals(target.elementType())) {
      throw new IllegalArgumentException(
          "the source holds " + type + ", not " + target.elementType() + "; use as() first");
    }
    checkRoom(source.byteSize(), target.byteSize(), "the destination, " + target + ",");
    if (source instanceof BufferHandle<?> from && target instanceof BufferHandle<?> to) {
      return between(from, to);
    }
    if (ForeignBytes.isForeign(source)) {
      HostRegion bytes = new HostRegion.Segment(ForeignBytes.of(source, false), false);
      return inward(context, bytes, target, options);
    }
    MemorySegment front = ForeignBytes.of(target, true).asSlice(0, source.byteSize());
    return outward(context, source, new HostRegion.Segment(front, false), options);
  }

  private static TransferTask between(BufferHandle<?> source, BufferHandle<?> target) {
    ElementType<?> type = source.elementType();
    long bytes = source.byteSize();
    Storage from = source.storage();
    Storage to = target.storage();
    if (MemoryRange.of(source).overlaps(MemoryRange.of(target).front(bytes))) {
      throw new IllegalArgumentException(
          "the source, " + source + ", and the destination, " + target + ", overlap");
    }
    return new TransferTask(
        List.of(ResourceAccess.read(from), ResourceAccess.write(to)),
        bytes,
        () -> "copying " + source + " to " + target,
        () -> BufferCopy.within(source, target),
        () -> Checksum.of(type, from, source.from(), bytes),
        () -> Checksum.of(type, to, target.from(), bytes),
        null);
  }

  private static void checkShared(MemorySegment segment) {
    if (!SegmentAccess.isForAllThreads(segment)) {
      throw new IllegalArgumentException(
          "the segment belongs to one thread, but others move its bytes; take one of a shared"
              + " arena, or use copyFrom and copyTo");
    }
  }

  private static void checkRoom(long needed, long room, String where) {
    if (needed > room) {
      throw new IndexOutOfBoundsException(
          where + " has room for " + room + " bytes, but the source has " + needed);
    }
  }

  /**
   * Returns the operation of the pair, which uses the given options.
   *
   * @param contexts supplies the context of each attempt
   */
  Operation operation(
      TransferOptions options,
      Supplier<TransferContext> contexts,
      RetryPolicy retries,
      Executor executor) {
    Runnable whole = options.verified() ? this::moveVerified : move;
    return Operation.of(
            uses,
            executor,
            () -> {
              try {
                TransferContext transferContext = contexts.get();
                if (bytes > 0 && transferContext.equals(TransferContext.ORDINARY)) {
                  whole.run();
                } else if (bytes > 0) {
                  transferContext.run(whole);
                }
              } catch (RuntimeException | Error e) {
                throw Exceptions.transfer(e, what.get());
              }
            })
        .carrying(smallTransfer)
        .retrying(retries);
  }

  private void moveVerified() {
    move.run();
    long expected = sent.getAsLong();
    long found = arrived.getAsLong();
    if (expected != found) {
      throw new RetryPolicy.Damaged(
          "%s bytes arrived damaged: their CRC32C is %08x, that of the source %08x"
              .formatted(bytes, found, expected));
    }
  }
}
