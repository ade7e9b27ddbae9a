package dev.tidepool.runtime;

import dev.tidepool.pool.Lease;
import dev.tidepool.transfer.HostBytes;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.zip.CRC32C;

/** The CRC32C of bytes wherever they are, read in chunks through a block of the host. */
final class Checksum {
  private Checksum() {}

  private interface Reader {
    void read(long at, MemorySegment chunk);
  }

  /** Of a range of a storage, read from the side that is newest; called by work in its lane. */
  static long of(Storage storage, long from, long bytes) {
    return of(
        storage.memory(),
        bytes,
        1,
        (at, chunk) -> storage.residency().copyOut(from + at, new HostBytes.Segment(chunk, true)));
  }

  /** Of bytes of the host. */
  static long of(AcceleratorMemory memory, HostBytes source) {
    return of(memory, source.byteSize(), source.granule(), source::copyTo);
  }

  private static long of(AcceleratorMemory memory, long bytes, long granule, Reader reader) {
    CRC32C sum = new CRC32C();
    long chunk = memory.stagingChunk();
    long step = Math.max(granule, chunk - chunk % granule);
    Lease lease = memory.blocks().forStaging(Math.max(1, Math.min(step, bytes)));
    try {
      MemorySegment block = Objects.requireNonNull(lease.block().segment(), "staging");
      for (long at = 0; at < bytes; at += step) {
        MemorySegment part = block.asSlice(0, Math.min(step, bytes - at));
        reader.read(at, part);
        sum.update(part.asByteBuffer());
      }
    } finally {
      lease.release();
    }
    return sum.getValue();
  }
}
