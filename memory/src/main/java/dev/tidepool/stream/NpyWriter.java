package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import dev.tidepool.stream.file.AtomicFile;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;

/**
 * A {@code .npy} file that appears whole or not at all: written beside its target under a hidden
 * name and renamed by {@link #commit()}.
 *
 * <p>{@link #write} is safe for use by any thread, several at once; elements that nobody wrote are
 * zero. Closing without a commit, a failure, and the end of the virtual machine delete what was
 * written. Bytes are handed to the operating system, which may keep them in its cache: a commit
 * survives the end of the process, not a power failure.
 */
public final class NpyWriter implements ElementSink, AutoCloseable {
  private final AtomicFile file;
  private volatile NpyHeader header;

  private NpyWriter(AtomicFile file, NpyHeader header) {
    this.file = file;
    this.header = header;
  }

  /**
   * Begins a file. Where the target is a symbolic link, what it leads to is replaced, with that
   * file's permissions.
   *
   * @param header from {@link NpyHeader#of}
   * @param overwrite whether a target that exists is replaced
   * @throws TransferException if the target exists and may not be replaced, is write-protected, is
   *     no regular file or a link that leads to none, its folder is missing or read-only, or the
   *     disk has no room for all of it
   */
  public static NpyWriter create(Path target, NpyHeader header, boolean overwrite) {
    return create(
        target, header, header.dataBytes(), overwrite, AtomicFile.newPartialName(), false);
  }

  /**
   * Begins a file that {@link #shorten} leaves with some of its elements, nobody knows how many: so
   * the disk need not have room for all.
   */
  static NpyWriter createShortened(Path target, NpyHeader header, boolean overwrite) {
    return create(target, header, 0, overwrite, AtomicFile.newPartialName(), false);
  }

  /**
   * Begins a file that outlives a failure, a cancellation and the virtual machine, under the name
   * {@code partialName} in its target's folder, until {@link #reopen} goes on with it.
   */
  static NpyWriter createKept(
      Path target, NpyHeader header, boolean overwrite, String partialName) {
    return create(target, header, header.dataBytes(), overwrite, partialName, true);
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
   * Goes on with a file that {@link #createKept} began, maybe without coming to its header.
   *
   * @throws TransferException as {@link #create} does
   */
  static NpyWriter reopen(Path target, NpyHeader header, boolean overwrite, String partialName) {
    AtomicFile file = AtomicFile.reopen(target, header.dataBytes(), overwrite, partialName);
    NpyWriter writer = new NpyWriter(file, header);
    try {
      writer.writeHeader();
    } catch (RuntimeException e) {
      writer.close();
      throw e;
    }
    return writer;
  }

  /** Returns the file that will appear; of a symbolic link, what it leads to. */
  public Path target() {
    return file.target();
  }

  /** Returns what the file will say of its array. */
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
   * Writes the elements of a segment from {@code elementOffset} on, in the order of the file.
   * Segments may lie on the heap, but native ones save a copy.
   *
   * @throws IndexOutOfBoundsException if the array has fewer elements
   * @throws IllegalArgumentException if the segment is no whole number of elements
   * @throws TransferException if the disk is full or fails; the file can not be committed then
   * @throws IllegalStateException if this writer is committed or closed
   */
  @Override
  public void write(long elementOffset, MemorySegment source) {
    file.write(header.position(elementOffset, source.byteSize()), source);
  }

  private void writeHeader() {
    file.write(0, MemorySegment.ofArray(header.encode()));
  }

  /** Completes the file, as {@link AtomicFile#prepare} does. */
  void prepare() {
    file.prepare(fileBytes());
  }

  /**
   * Makes the file appear under its name, in one step. Call it after all writes returned; harmless
   * when called again.
   *
   * @throws IllegalStateException if a write failed or this writer was closed
   * @throws TransferException if the target appeared meanwhile and may not be replaced, or the disk
   *     fails; nothing is left of the file then
   */
  public void commit() {
    file.commit(fileBytes());
  }

  private long fileBytes() {
    return header.dataOffset() + header.dataBytes();
  }

  /** Returns the file that is written. */
  AtomicFile file() {
    return file;
  }

  /**
   * Leaves the file with its first elements alone, as an array of one dimension. Call it after all
   * writes returned.
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
}
