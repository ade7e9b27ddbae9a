package dev.tidepool.stream.pipeline;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.tidepool.ElementType;
import dev.tidepool.runtime.buffer.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A file in Fortran order, read in C order.
 *
 * <p>The array is seen as a matrix of {@code rows} (the first dimension) by {@code columns} (all
 * other dimensions). In the file, a column's elements are neighbours; a range in C order is some
 * rows. So pieces of columns are read into a scratch block and transposed there. The more rows a
 * range has, the longer the pieces are, so large chunks are faster. If columns are short, and also
 * neighbours in the file, whole columns are read at once.
 */
public final class TransposedSource implements Source {
  private static final long SCRATCH_BYTES = 256 << 10;
  private static final long SHORT_COLUMN_BYTES = 4096;

  private final Source reader;
  private final MemoryRange bytes;
  private final int width;
  private final long rows;
  private final long columns;
  private final long[] columnShape;

  /**
   * Creates a source over a file.
   *
   * @param bytes the range of the whole file
   */
  public TransposedSource(Source reader, List<Long> shape, MemoryRange bytes) {
    this.reader = reader;
    this.bytes = bytes;
    this.width = (int) reader.elementType().byteSize();
    this.rows = shape.get(0);
    this.columns = rows == 0 ? 0 : reader.length() / rows;
    this.columnShape = shape.stream().skip(1).mapToLong(Long::longValue).toArray();
  }

  @Override
  public MemoryRange bytes() {
    return bytes;
  }

  @Override
  public ElementType<?> elementType() {
    return reader.elementType();
  }

  @Override
  public long length() {
    return reader.length();
  }

  @Override
  public void read(long elementOffset, MemorySegment destination) {
    long end = elementOffset + destination.byteSize() / width;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment scratch = arena.allocate(SCRATCH_BYTES, 64);
      for (long at = elementOffset; at < end; ) {
        long row = at / columns;
        long column = at % columns;
        boolean wholeRows = column == 0 && end - at >= columns;
        Tile tile =
            wholeRows
                ? new Tile(row, (end - at) / columns, 0, columns)
                : new Tile(row, 1, column, Math.min(columns - column, end - at));
        MemorySegment target =
            destination.asSlice((at - elementOffset) * width, tile.elements() * width);
        read(tile, target, scratch);
        at += tile.elements();
      }
    }
  }

  /** Some rows by some columns; in C order its elements are neighbours if it has all columns. */
  private record Tile(long row, long rows, long column, long columns) {
    long elements() {
      return rows * columns;
    }
  }

  private void read(Tile tile, MemorySegment target, MemorySegment scratch) {
    boolean whole = columnShape.length == 1 && rows * width <= SHORT_COLUMN_BYTES;
    long mostRows = whole ? tile.rows() : Math.min(tile.rows(), SCRATCH_BYTES / width);
    for (long row = 0; row < tile.rows(); row += mostRows) {
      long rowCount = Math.min(mostRows, tile.rows() - row);
      long piece = whole ? rows : rowCount;
      long mostColumns = SCRATCH_BYTES / (piece * width);
      for (long column = 0; column < tile.columns(); column += mostColumns) {
        long columnCount = Math.min(mostColumns, tile.columns() - column);
        MemorySegment pieces = scratch.asSlice(0, columnCount * piece * width);
        if (whole) {
          reader.read((tile.column() + column) * rows, pieces);
        } else {
          readPieces(tile.row() + row, rowCount, tile.column() + column, pieces);
        }
        long skipped = whole ? tile.row() + row : 0;
        for (long r = 0; r < rowCount; r++) {
          long to = (row + r) * tile.columns() + column;
          gather(pieces, skipped + r, piece, target, to, columnCount);
        }
      }
    }
  }

  private void readPieces(long row, long rowCount, long column, MemorySegment pieces) {
    long pieceBytes = rowCount * width;
    for (long at = 0, c = column; at < pieces.byteSize(); at += pieceBytes, c++) {
      reader.read(fileColumn(c) * rows + row, pieces.asSlice(at, pieceBytes));
    }
  }

  /** Returns the position in the file, in columns, of a column that is counted in C order. */
  private long fileColumn(long column) {
    long rest = column;
    long[] index = new long[columnShape.length];
    for (int d = columnShape.length - 1; d >= 0; d--) {
      index[d] = rest % columnShape[d];
      rest /= columnShape[d];
    }
    long position = 0;
    for (int d = columnShape.length - 1; d >= 0; d--) {
      position = position * columnShape[d] + index[d];
    }
    return position;
  }

  /** Copies every {@code stride}-th element from {@code first} on to neighbouring ones. */
  private void gather(
      MemorySegment from, long first, long stride, MemorySegment to, long at, long count) {
    long source = first * width;
    long step = stride * width;
    long target = at * width;
    for (long i = 0; i < count; i++, source += step, target += width) {
      switch (width) {
        case 1 -> to.set(JAVA_BYTE, target, from.get(JAVA_BYTE, source));
        case 2 -> to.set(JAVA_SHORT_UNALIGNED, target, from.get(JAVA_SHORT_UNALIGNED, source));
        case 4 -> to.set(JAVA_INT_UNALIGNED, target, from.get(JAVA_INT_UNALIGNED, source));
        default -> to.set(JAVA_LONG_UNALIGNED, target, from.get(JAVA_LONG_UNALIGNED, source));
      }
    }
  }
}
