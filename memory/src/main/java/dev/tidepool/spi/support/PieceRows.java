package dev.tidepool.spi.support;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.Piece;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The work of a kernel that takes staged pieces to their places on a device, or fetches them from
 * there: one launch for each block, and in it one group of work items for each row.
 */
public final class PieceRows {
  /** More blocks than that are more launches than copies would take. */
  public static final int MOST_BLOCKS = 8;

  /** Bytes of a row at most, so that groups have work of like length. */
  public static final long ROW_BYTES = 32 << 10;

  private PieceRows() {}

  /**
   * A piece, or a part of one.
   *
   * @param from the first staged byte of it
   * @param offset the first byte in its block
   * @param bytes how many; at least one
   */
  public record Row(long from, long offset, long bytes) {}

  /** Returns the number of blocks that pieces are in, or {@link #MOST_BLOCKS} + 1 if more. */
  public static int blocksOf(List<Piece> pieces) {
    return (int) pieces.stream().map(Piece::block).distinct().limit(MOST_BLOCKS + 1).count();
  }

  /** Returns the rows in each block. A block in which no piece has a byte has none. */
  public static Map<Block, List<Row>> byBlock(List<Piece> pieces) {
    Map<Block, List<Row>> rows = new LinkedHashMap<>();
    for (Piece piece : pieces) {
      for (long done = 0; done < piece.bytes(); done += ROW_BYTES) {
        rows.computeIfAbsent(piece.block(), _ -> new ArrayList<>())
            .add(
                new Row(
                    piece.from() + done,
                    piece.offset() + done,
                    Math.min(ROW_BYTES, piece.bytes() - done)));
      }
    }
    return rows;
  }
}
