package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.stream.file.AtomicFile;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;

/**
 * Writes a {@code .npy} file that appears completely or not at all. The file is written beside its
 * target under a hidden name, and renamed by {@link #commit()}.
 *
 * <p>Several threads may call {@link #write} at once. Elements that were not written are zero.
 * Closing without a commit, a failure, and the end of the virtual machine delete the partial file.
 * The operating system may keep bytes in its cache: a committed file survives the end of the
 * process, but not a power failure.
 */
public final class NpyWriter implements ElementSink, AutoCloseable {
  private final AtomicFile file;
  private volatile NpyHeader header;

  private NpyWriter(AtomicFile file, NpyHeader header) {
    this.file = file;
    this.header = header;
  }

  /**
   * Creates a partial file. If the target is a symbolic link, the commit replaces the file that it
   * refers to, with that file's permissions.
   *
   * @param header a header that {@link NpyHeader#of} returned
   * @param overwrite whether an existing target is replaced
   * @throws IllegalArgumentException if the header was read from a file with another byte order, or
   *     whose elements begin at another byte than in a file of this class
   * @throws TransferException if the target exists and may not be replaced, is write-protected, or
   *     is neither a regular file nor a link to one; if its folder is missing or read-only; or if
   *     the disk has no room for the whole file
   */
  public static NpyWriter create(Path target, NpyHeader header, boolean overwrite) {
    return create(target, header, fileBytes(header), overwrite, AtomicFile.newPartialName(), false);
  }

  /**
   * Creates a partial file that {@link #shorten} will truncate to an unknown number of elements. So
   * the disk need not have room for all of them.
   */
  static NpyWriter createShortened(Path target, NpyHeader header, boolean overwrite) {
    return create(target, header, 0, overwrite, AtomicFile.newPartialName(), false);
  }

  /**
   * Creates a partial file that is kept after a failure, a cancellation and the end of the virtual
   * machine, under the name {@code partialName} in its target's folder, until {@link #reopen}
   * continues it.
   */
  static NpyWriter createKept(
      Path target, NpyHeader header, boolean overwrite, String partialName) {
    return create(target, header, fileBytes(header), overwrite, partialName, true);
  }

  private static NpyWriter create(
      Path target,
      NpyHeader header,
      long bytes,
      boolean overwrite,
      String partialName,
      boolean kept) {
    if (header.byteOrder() != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException(
          "files are written in the platform's byte order, " + ByteOrder.nativeOrder());
    }
    int headerBytes = header.encode().length;
    if (header.dataOffset() != headerBytes) {
      throw new IllegalArgumentException(
          "a header whose elements begin at byte "
              + header.dataOffset()
              + ", but files are written with "
              + headerBytes
              + " bytes before them; make one with NpyHeader.of");
    }
    AtomicFile file = AtomicFile.create(target, bytes, overwrite, partialName, kept);
    NpyWriter writer = new NpyWriter(file, header);
    try {
      writer.writeHeader();
    } catch (RuntimeException e) {
      file.discard();
      writer.close();
      throw e;
    }
    return writer;
  }

  /**
   * Reopens a partial file that {@link #createKept} created, perhaps without its header.
   *
   * @throws TransferException as {@link #create} does
   */
  static NpyWriter reopen(Path target, NpyHeader header, boolean overwrite, String partialName) {
    AtomicFile file = AtomicFile.reopen(target, fileBytes(header), overwrite, partialName);
    NpyWriter writer = new NpyWriter(file, header);
    try {
      writer.writeHeader();
    } catch (RuntimeException e) {
      writer.close();
      throw e;
    }
    return writer;
  }

  /**
   * Returns the path at which the file will appear; for a symbolic link, the file that it refers
   * to.
   */
  public Path target() {
    return file.target();
  }

  /** Returns the header of the file. */
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
   * Writes the elements of a segment, starting at {@code elementOffset}, in the order of the file.
   * Native segments are faster than segments on the heap, which need a copy.
   *
   * @throws IndexOutOfBoundsException if the array has fewer elements
   * @throws IllegalArgumentException if the segment is not a whole number of elements
   * @throws TransferException if the disk is full or fails; the file can then not be committed
   * @throws IllegalStateException if the writer is committed or closed
   */
  @Override
  public void write(long elementOffset, MemorySegment source) {
    file.write(header.position(elementOffset, source.byteSize()), source);
  }

  /**
   * Writes the elements of a buffer, starting at {@code elementOffset}, in the order of the file.
   * Newer bytes of the device are fetched first.
   *
   * @throws IndexOutOfBoundsException if the array has fewer elements
   * @throws IllegalArgumentException if the buffer's element type is not the file's
   * @throws TransferException if the disk is full or fails, and the file can then not be committed;
   *     also if the newer bytes cannot be fetched
   * @throws IllegalStateException if the writer is committed or closed, or the buffer is closed or
   *     lent to native code that writes it
   */
  public void write(long elementOffset, UnifiedBuffer<?> source) {
    header.checkType(target(), source);
    try (HostMapping mapping = source.map(MapMode.READ)) {
      write(elementOffset, mapping.segment());
    }
  }

  private void writeHeader() {
    file.write(0, MemorySegment.ofArray(header.encode()));
  }

  /** Completes the file; see {@link AtomicFile#prepare}. */
  void prepare() {
    file.prepare(fileBytes(header));
  }

  /**
   * Lets the file appear under its name, atomically. Call this after all writes have returned.
   * Idempotent.
   *
   * @throws IllegalStateException if a write failed or the writer was closed
   * @throws TransferException if the target appeared meanwhile and may not be replaced, or the disk
   *     fails; the partial file is then deleted
   */
  public void commit() {
    file.commit(fileBytes(header));
  }

  private static long fileBytes(NpyHeader header) {
    return header.dataOffset() + header.dataBytes();
  }

  /** Returns the file that is written. */
  AtomicFile file() {
    return file;
  }

  /**
   * Truncates the file to its first elements, as an array of one dimension. Call this after all
   * writes have returned.
   *
   * @throws TransferException if the disk fails
   */
  void shorten(long count) {
    NpyHeader shorter = NpyHeader.of(header.type(), false, List.of(count));
    if (shorter.dataOffset() != header.dataOffset()) {
      throw new IllegalStateException("the header of " + shorter.shapeText() + " takes other room");
    }
    header = shorter;
    writeHeader();
  }

  /** Ends the writer and deletes what was not committed, unless it is kept; idempotent. */
  @Override
  public void close() {
    file.close();
  }

  @Override
  public String toString() {
    return "NpyWriter[" + file.target() + ", " + header.arrayText() + "]";
  }
}
