package dev.tidepool.spi.support;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.Piece;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Divides the work of a kernel that scatters or gathers staged pieces: one launch for each block,
 * and in it one group of work items for each row.
 */
public final class PieceRows {
  /** For more blocks than this, copies are cheaper than launches. */
  public static final int MOST_BLOCKS = 8;

  /** The most bytes of a row, so that all groups have similar work. */
  public static final long ROW_BYTES = 32 << 10;

  private PieceRows() {}

  /**
   * A piece, or a part of a piece.
   *
   * @param from the offset in the staged bytes
   * @param offset the offset in the block
   * @param bytes the number of bytes, at least 1
   */
  public record Row(long from, long offset, long bytes) {}

  /** Returns the number of different blocks of the pieces, at most {@link #MOST_BLOCKS} + 1. */
  public static int blocksOf(List<Piece> pieces) {
    return (int) pieces.stream().map(Piece::block).distinct().limit(MOST_BLOCKS + 1).count();
  }

  /** Returns the rows of each block. Blocks without a byte are left out. */
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
