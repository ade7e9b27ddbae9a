package dev.tidepool.benchmarks.trace;

import dev.tidepool.MemoryLocation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The allocations of a column store that runs queries, some of them concurrently. A query reads
 * batches of rows; each column is a buffer, and texts have any length. The query filters the
 * batches into smaller columns and adds them to a hash table, which doubles when it is full.
 * Results live for a while, until their reader is done.
 */
final class QueryEngine {
  private static final int QUERIES = 300;
  private static final int MOST_RUNNING = 4;
  private static final int RESULTS_HELD = 8;
  private static final int ROWS = 16 << 10;
  private static final int MOST_BATCHES = 60;
  private static final long SMALLEST_TABLE = 64L << 10;
  private static final int[] WIDTHS = {1, 2, 4, 4, 8, 8};

  private final TraceWriter recorder;
  private final SplittableRandom random;
  private final Deque<Integer> results = new ArrayDeque<>();

  private QueryEngine(TraceWriter recorder, long seed) {
    this.recorder = recorder;
    random = new SplittableRandom(seed);
  }

  static void write(TraceWriter recorder, long seed) {
    new QueryEngine(recorder, seed).run();
  }

  private void run() {
    List<Query> running = new ArrayList<>();
    int begun = 0;
    while (begun < QUERIES || !running.isEmpty()) {
      if (begun < QUERIES && running.size() < MOST_RUNNING) {
        running.add(new Query());
        begun++;
      }
      Query query = running.get(random.nextInt(running.size()));
      if (!query.next()) {
        query.end();
        running.remove(query);
      }
    }
    results.forEach(recorder::free);
  }

  private int allocate(long bytes) {
    return recorder.allocate(bytes, MemoryLocation.DEVICE);
  }

  /** One running query. */
  private final class Query {
    private final int columns = random.nextInt(2, 9);
    private final int texts = random.nextInt(0, 3);
    private final double selectivity = random.nextDouble(0.02, 1);
    private final long groupBytesPerBatch = random.nextLong(1 << 10, 256 << 10);
    private int batchesLeft = random.nextInt(1, MOST_BATCHES);
    private long tableBytes = SMALLEST_TABLE;
    private long tableUsed;
    private int table = allocate(SMALLEST_TABLE);

    /** Runs a batch; returns false if none is left. */
    boolean next() {
      if (batchesLeft-- == 0) {
        return false;
      }
      // The last batch of a file has the remaining rows.
      int rows = batchesLeft == 0 ? random.nextInt(1, ROWS) : ROWS;
      List<Integer> read = batch(rows);
      int selection = allocate((rows + 7) / 8);
      List<Integer> kept = batch((int) Math.max(1, rows * selectivity));
      recorder.free(selection);
      read.forEach(recorder::free);
      int hashes = allocate(8L * rows);
      grow();
      recorder.free(hashes);
      kept.forEach(recorder::free);
      return true;
    }

    private List<Integer> batch(int rows) {
      List<Integer> buffers = new ArrayList<>();
      for (int column = 0; column < columns; column++) {
        buffers.add(allocate((long) rows * WIDTHS[column % WIDTHS.length]));
        buffers.add(allocate((rows + 7) / 8));
      }
      for (int text = 0; text < texts; text++) {
        buffers.add(allocate(4L * (rows + 1)));
        buffers.add(allocate((long) (rows * random.nextDouble(5, 40))));
      }
      return buffers;
    }

    private void grow() {
      tableUsed += groupBytesPerBatch;
      while (tableUsed > tableBytes * 3 / 4) {
        tableBytes *= 2;
        int larger = allocate(tableBytes);
        recorder.free(table);
        table = larger;
      }
    }

    void end() {
      results.add(recorder.allocate(Math.max(1, tableUsed), MemoryLocation.HOST));
      recorder.free(table);
      if (results.size() > RESULTS_HELD) {
        recorder.free(results.remove());
      }
    }
  }
}
