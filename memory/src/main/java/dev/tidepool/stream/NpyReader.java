package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.codec.ByteSource;
import dev.tidepool.host.MemoryOperations;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.stream.file.CompressedFiles;
import dev.tidepool.stream.file.PositionalFile;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A {@code .npy} file, read at positions into segments, in the platform's byte order. A file that
 * the {@code lz4} command compressed is read as if it was not, if the module {@code
 * dev.tidepool.lz4} is present. The first bytes of the file decide, not its name.
 *
 * <p>Thread-safe; reads of several threads run side by side and interrupts neither stop them nor
 * get lost. The file must not be changed while it is open: a file that shrinks is a {@link
 * TransferException}, other changes are not noticed.
 */
public final class NpyReader implements ElementSource, AutoCloseable {
  private final Path path;
  private final NpyHeader header;
  private final ByteSource file;
  private final boolean compressed;
  private final MemoryRange whole;

  private NpyReader(Path path, NpyHeader header, ByteSource file, boolean compressed)
      throws IOException {
    this.path = path;
    this.header = header;
    this.file = file;
    this.compressed = compressed;
    this.whole = MemoryRange.ofFile(path);
  }

  /**
   * Opens a file and checks that it holds as many bytes as its header says. Bytes after the array
   * are ignored, as NumPy does. What a compressed file lacks may show only when it is read.
   *
   * @throws NpyFormatException if it is no {@code .npy} file, is truncated, or holds elements that
   *     are not supported
   * @throws TransferException if it cannot be opened or read; also if it is compressed and damaged,
   *     or compressed and the module {@code dev.tidepool.lz4} is not present
   */
  public static NpyReader open(Path path) {
    if (Files.isDirectory(path)) {
      throw new TransferException(path + " is a folder; name a file", null);
    }
    return PositionalFile.open(
        path,
        file -> {
          boolean compressed = CompressedFiles.isCompressed(file);
          ByteSource bytes = compressed ? CompressedFiles.open(path, file) : file;
          return new NpyReader(path, readHeader(path, bytes), bytes, compressed);
        });
  }

  private static NpyHeader readHeader(Path path, ByteSource file) throws IOException {
    try {
      long size = file.size();
      byte[] prefix = new byte[(int) Math.min(NpyHeader.PREFIX_BYTES, size)];
      file.read(0, MemorySegment.ofArray(prefix));
      byte[] start = new byte[(int) Math.min(NpyHeader.dataOffset(ByteBuffer.wrap(prefix)), size)];
      file.read(0, MemorySegment.ofArray(start));
      NpyHeader header = NpyHeader.parse(start);
      if (size - header.dataOffset() < header.dataBytes()) {
        throw new NpyFormatException(
            "it is truncated: shape "
                + header.shapeText()
                + " of "
                + header.type().numpyName()
                + " takes "
                + header.dataBytes()
                + " bytes after the header, but it has only "
                + (size - header.dataOffset()));
      }
      return header;
    } catch (NpyFormatException e) {
      throw new NpyFormatException("cannot read " + path + ": " + e.getMessage(), e);
    }
  }

  /** Returns the file, as it was named. */
  public Path path() {
    return path;
  }

  /** Returns what the file says of its array. */
  public NpyHeader header() {
    return header;
  }

  /** Returns the file if it is read without a codec, else null. */
  @Nullable PositionalFile plainFile() {
    return file instanceof PositionalFile plain ? plain : null;
  }

  /** See {@link PositionalFile#allowCriticalCalls}. Changes nothing for a compressed file. */
  void allowCriticalCalls() {
    if (file instanceof PositionalFile plain) {
      try {
        plain.allowCriticalCalls();
      } catch (IOException e) {
        throw FileErrors.failed("read", path, e);
      }
    }
  }

  /** Where the elements are, one after another; if they are compressed, the whole file. */
  MemoryRange bytes() {
    long from = header.dataOffset();
    return compressed ? whole : new MemoryRange(whole.memory(), from, from + header.dataBytes());
  }

  /** Returns all of the file, which its name may have left since it was opened. */
  MemoryRange whole() {
    return whole;
  }

  @Override
  public ElementType<?> elementType() {
    return header.type().elementType();
  }

  @Override
  public long length() {
    return header.elementCount();
  }

  /**
   * Fills a segment with the elements from {@code elementOffset} on, in the order of the file,
   * swapped to the platform's byte order. Segments may lie on the heap, but native ones save a
   * copy.
   *
   * @throws IndexOutOfBoundsException if the file has fewer elements
   * @throws IllegalArgumentException if the segment is read-only or no whole number of elements
   * @throws TransferException if the bytes cannot be read; the segment's contents are undefined
   *     then
   * @throws IllegalStateException if this reader is closed
   */
  @Override
  public void read(long elementOffset, MemorySegment destination) {
    if (destination.isReadOnly()) {
      throw new IllegalArgumentException("a destination that is read-only; it must be writable");
    }
    long position = header.position(elementOffset, destination.byteSize());
    try {
      file.read(position, destination);
    } catch (ClosedChannelException e) {
      throw new IllegalStateException("the reader of " + path + " is closed", e);
    } catch (EOFException e) {
      throw new TransferException(path + " shrank while it was read: " + e.getMessage(), e);
    } catch (IOException e) {
      throw new TransferException(
          "cannot read "
              + destination.byteSize()
              + " bytes of "
              + path
              + " from element "
              + elementOffset
              + ": "
              + FileErrors.reason(e),
          e);
    }
    if (header.byteOrder() != ByteOrder.nativeOrder()) {
      MemoryOperations.swapBytes(header.type().byteSize(), destination);
    }
  }

  /** Sends a compressed file's blocks as they are and decodes them there, where that pays. */
  @Override
  public boolean load(
      long elementOffset, UnifiedBuffer<?> destination, UnifiedMemoryManager memory) {
    if (!compressed || header.byteOrder() != ByteOrder.nativeOrder()) {
      return false;
    }
    long position = header.position(elementOffset, destination.byteSize());
    return file.load(position, destination.as(ElementType.BYTE), memory);
  }

  /**
   * Compares the checksum of a compressed file with its contents; elements that were read in order
   * are not read again for it. Does nothing for others.
   *
   * @throws TransferException if it is wrong
   */
  public void verify() {
    try {
      file.verify();
    } catch (IOException e) {
      throw FileErrors.failed("read", path, e);
    }
  }

  /** Ends reads that run; idempotent. */
  @Override
  public void close() {
    FileErrors.close(path, file);
  }
}
