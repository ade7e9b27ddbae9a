package dev.tidepool.lz4;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.codec.ByteSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The decoded content of an LZ4 file, which several threads read at positions. Blocks are decoded
 * when they are first needed, and kept for a while.
 *
 * <p>Every failure names the file, and the block if the failure is a block's.
 */
final class Lz4File implements ByteSource {
  /** Files that decode to less are read before the ways to an accelerator are measured. */
  private static final long WORTH_MEASURING = 64L << 20;

  private final Path path;
  private final ByteSource file;
  private final Lz4Index index;
  private final Lz4BlockCache cache;
  private final Lz4ContentCheck check;
  private final Map<UnifiedMemoryManager, Optional<Lz4DeviceSource>> deviceSources =
      new ConcurrentHashMap<>();

  /**
   * Finds the blocks of a file, which is closed with this object.
   *
   * @throws Lz4FormatException if the file is cut, or damaged in its headers
   */
  Lz4File(Path path, ByteSource file) throws IOException {
    this.path = path;
    this.file = file;
    try {
      this.index = new Lz4Index(file);
      this.cache = new Lz4BlockCache(index);
      this.check = new Lz4ContentCheck(index, cache);
    } catch (Lz4FormatException e) {
      throw named(e);
    }
  }

  @Override
  public long size() {
    return index.mostBytes();
  }

  @Override
  public void read(long position, MemorySegment destination) throws IOException {
    try {
      for (long done = 0; done < destination.byteSize(); ) {
        int block = find(position + done);
        if (block == index.blocks()) {
          throw new Lz4FormatException(
              "it decodes to %s bytes, but %s are wanted"
                  .formatted(index.start(block), position + destination.byteSize()));
        }
        long skipped = position + done - index.start(block);
        long wanted = destination.byteSize() - done;
        done += cache.copy(block, skipped, destination.asSlice(done, wanted));
        check.advance();
      }
    } catch (Lz4FormatException e) {
      throw named(e);
    }
  }

  /**
   * Finds the block of a byte. First decodes the unknown blocks before it if they are few: a
   * sequential reader needs them.
   */
  private int find(long position) throws IOException {
    long near = cache.keptBytes() / 2;
    for (int block = index.nextUnknown(position, near);
        block >= 0;
        block = index.nextUnknown(position, near)) {
      cache.release(cache.hold(block));
    }
    return index.find(position);
  }

  @Override
  public boolean load(
      long position, UnifiedBuffer<byte[]> destination, UnifiedMemoryManager memory) {
    if (destination.length() == 0 || index.mostBytes() < WORTH_MEASURING) {
      return false;
    }
    Optional<Lz4DeviceSource> deviceSource =
        deviceSources.computeIfAbsent(memory, Lz4DeviceSource::to);
    try {
      if (deviceSource.isEmpty() || !deviceSource.get().load(index, position, destination)) {
        return false;
      }
    } catch (IOException | Lz4FormatException _) {
      return false; // The host meets the same failure, and reports it.
    }
    check.leaveToBlocks();
    return true;
  }

  @Override
  public void verify() throws IOException {
    try {
      check.finish();
    } catch (Lz4FormatException e) {
      throw named(e);
    }
  }

  private Lz4FormatException named(Lz4FormatException e) {
    return new Lz4FormatException("cannot read " + path + ": " + e.getMessage(), e);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
