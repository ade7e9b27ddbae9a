package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
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
 * Reads a {@code .npy} file at positions into buffers and segments, in the platform's byte order. A
 * file that the {@code lz4} command compressed is decompressed, if the module {@code
 * dev.tidepool.lz4} is present. The reader detects compression by the first bytes of the file, not
 * by its name.
 *
 * <p>Thread-safe. Reads of several threads run concurrently. An interrupt does not stop a read, and
 * stays set. The file must not be changed while it is open: if it shrinks, reads throw {@link
 * TransferException}; other changes are not detected.
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
   * Opens a file and checks that it has as many bytes as its header says. As in NumPy, bytes after
   * the array are ignored. A truncated compressed file may be detected only when it is read.
   *
   * @throws NpyFormatException if the file is not a {@code .npy} file, is truncated, or has
   *     elements that are not supported
   * @throws TransferException if the file cannot be opened or read; also if it is compressed, and
   *     is damaged or the module {@code dev.tidepool.lz4} is not present
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

  /** Returns the path that was passed to {@link #open}. */
  public Path path() {
    return path;
  }

  /** Returns the header of the file. */
  public NpyHeader header() {
    return header;
  }

  /** Returns the file if it is read without a codec, else null. */
  @Nullable PositionalFile plainFile() {
    return file instanceof PositionalFile plain ? plain : null;
  }

  /** Calls {@link PositionalFile#allowCriticalCalls}. Does nothing for a compressed file. */
  void allowCriticalCalls() {
    if (file instanceof PositionalFile plain) {
      try {
        plain.allowCriticalCalls();
      } catch (IOException e) {
        throw FileErrors.failed("read", path, e);
      }
    }
  }

  /** Returns the range of the elements in the file; the whole file if it is compressed. */
  MemoryRange bytes() {
    long from = header.dataOffset();
    return compressed ? whole : new MemoryRange(whole.memory(), from, from + header.dataBytes());
  }

  /**
   * Returns the range of the whole file that was opened, even if its name now refers to another
   * file.
   */
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
   * Fills a segment with the elements that start at {@code elementOffset}, in the order of the
   * file, swapped to the platform's byte order. Native segments are faster than segments on the
   * heap, which need a copy.
   *
   * @throws IndexOutOfBoundsException if the file has fewer elements
   * @throws IllegalArgumentException if the segment is read-only, or is not a whole number of
   *     elements
   * @throws TransferException if the bytes cannot be read; the segment's contents are then
   *     undefined
   * @throws IllegalStateException if the reader is closed
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

  /**
   * Fills a buffer with the elements that start at {@code elementOffset}, in the order of the file.
   * The host's copy of the buffer is the newest afterwards.
   *
   * @throws IndexOutOfBoundsException if the file has fewer elements
   * @throws IllegalArgumentException if the buffer's element type is not the file's
   * @throws UnsupportedOperationException if the buffer is read-only
   * @throws TransferException if the bytes cannot be read; the buffer's contents are then undefined
   * @throws IllegalStateException if the buffer is closed or lent to native code; also if the
   *     reader is closed, and the buffer's contents are then undefined
   */
  public void read(long elementOffset, UnifiedBuffer<?> destination) {
    header.checkType(path, destination);
    // Before the mapping, which makes the contents undefined.
    header.position(elementOffset, destination.byteSize());
    try (HostMapping mapping = destination.map(MapMode.WRITE)) {
      read(elementOffset, mapping.segment());
    }
  }

  /**
   * Transfers a compressed file's blocks without decoding them, and decodes them on the
   * accelerator, if that is faster.
   */
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
   * Compares the checksum of a compressed file with its contents. Elements that were read in order
   * are not read again. Does nothing for a file that is not compressed.
   *
   * @throws TransferException if the checksum is wrong
   */
  public void verify() {
    try {
      file.verify();
    } catch (IOException e) {
      throw FileErrors.failed("read", path, e);
    }
  }

  /** Closes the file. Running reads fail. Idempotent. */
  @Override
  public void close() {
    FileErrors.close(path, file);
  }

  @Override
  public String toString() {
    return "NpyReader[" + path + ", " + header.arrayText() + "]";
  }
}
