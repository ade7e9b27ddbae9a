package dev.tidepool.runtime.transfers;

import dev.tidepool.ElementType;
import dev.tidepool.diagnostics.LayoutReport;
import dev.tidepool.link.HostRegion;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The CRC32C of elements on any side, read in chunks through a staging block. The padding of
 * structs counts as zeros: records have no padding, so padding bytes may differ between the two
 * sides.
 */
final class Checksum {
  private Checksum() {}

  private interface Reader {
    void read(long at, MemorySegment chunk);
  }

  /**
   * Returns the checksum of a range of a storage, read from the side with the newest bytes. The
   * caller is an operation in the storage's queue.
   */
  static long of(ElementType<?> type, Storage storage, long from, long bytes) {
    return of(
        type,
        storage.context(),
        bytes,
        (at, chunk) -> storage.coherence().copyOut(from + at, new HostRegion.Segment(chunk, true)));
  }

  /** Returns the checksum of a region of the host. */
  static long of(ElementType<?> type, StorageContext context, HostRegion source) {
    return of(type, context, source.byteSize(), source::copyTo);
  }

  private static long of(ElementType<?> type, StorageContext context, long bytes, Reader reader) {
    List<LayoutReport.Component> padded = padded(type);
    CRC32C sum = new CRC32C();
    long each = type.byteSize();
    long chunk = context.stagingChunk();
    long step = Math.max(each, chunk - chunk % each);
    Lease lease = context.blocks().forStaging(Math.max(1, Math.min(step, bytes)));
    try {
      MemorySegment block = lease.segment();
      for (long at = 0; at < bytes; at += step) {
        MemorySegment part = block.asSlice(0, Math.min(step, bytes - at));
        reader.read(at, part);
        padded.forEach(component -> clearPadding(component, each, part));
        sum.update(part.asByteBuffer());
      }
    } finally {
      lease.release();
    }
    return sum.getValue();
  }

  private static List<LayoutReport.Component> padded(ElementType<?> type) {
    return type.layout() instanceof StructLayout
        ? LayoutReport.of(type).components().stream()
            .filter(component -> component.paddingAfter() > 0)
            .toList()
        : List.of();
  }

  private static void clearPadding(
      LayoutReport.Component component, long each, MemorySegment structs) {
    long first = component.offset() + component.byteSize();
    for (long at = first; at < structs.byteSize(); at += each) {
      structs.asSlice(at, component.paddingAfter()).fill((byte) 0);
    }
  }
}
