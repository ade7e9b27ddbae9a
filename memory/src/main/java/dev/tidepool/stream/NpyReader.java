package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * A {@code .npy} file, read at positions into segments, in the platform's byte order.
 *
 * <p>Safe for use by any thread; reads of several threads run side by side and interrupts neither
 * stop them nor get lost. The file must not be changed while it is open: a file that shrinks is a
 * {@link TransferException}, other changes are not noticed.
 */
public final class NpyReader implements ElementSource, AutoCloseable {
  private final Path path;
  private final NpyHeader header;
  private final PositionalFile file;

  private NpyReader(Path path, NpyHeader header, PositionalFile file) {
    this.path = path;
    this.header = header;
    this.file = file;
  }

  /**
   * Opens a file and checks that it holds as many bytes as its header says. Bytes after the array
   * are ignored, as NumPy does.
   *
   * @throws NpyFormatException if it is no {@code .npy} file, is truncated, or holds elements that
   *     are not supported
   * @throws TransferException if it cannot be opened or read
   */
  public static NpyReader open(Path path) {
    if (Files.exists(path) && !Files.isRegularFile(path)) {
      throw new TransferException(
          path + " is no regular file: only files can be read at positions", null);
    }
    try {
      PositionalFile file = PositionalFile.open(path);
      try {
        return new NpyReader(path, readHeader(path, file), file);
      } catch (IOException | RuntimeException e) {
        file.close();
        throw e;
      }
    } catch (NoSuchFileException e) {
      throw new TransferException(path + " does not exist", e);
    } catch (IOException e) {
      throw new TransferException("cannot read " + path + ": " + FileErrors.reason(e), e);
    }
  }

  private static NpyHeader readHeader(Path path, PositionalFile file) throws IOException {
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

  /** The file, as it was named. */
  public Path path() {
    return path;
  }

  /** What the file says of its array. */
  public NpyHeader header() {
    return header;
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
      ByteSwap.swap(destination, header.type().byteSize());
    }
  }

  /** Ends reads that run; idempotent. */
  @Override
  public void close() {
    try {
      file.close();
    } catch (IOException e) {
      throw new TransferException("cannot close " + path + ": " + FileErrors.reason(e), e);
    }
  }
}
