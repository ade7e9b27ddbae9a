package dev.tidepool.runtime.storage;

import dev.tidepool.ByteSize;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.LongAdder;

/** The file that a manager's idle buffers go to when memory is short, and how often they did. */
public final class SpillStore implements AutoCloseable {
  private final SpillFile file;
  private final LongAdder spills = new LongAdder();
  private final LongAdder returns = new LongAdder();

  /**
   * Opens the file.
   *
   * @throws dev.tidepool.TransferException if the directory cannot be used
   */
  SpillStore(Path directory) {
    this.file = SpillFile.open(directory);
  }

  SpillFile.Extent reserve(long bytes) {
    return file.reserve(bytes);
  }

  /** A buffer's bytes are in the file. */
  void spilled() {
    spills.increment();
  }

  /** A buffer has its bytes in memory again. */
  void broughtBack() {
    returns.increment();
  }

  public long spilledBytes() {
    return file.usedBytes();
  }

  public long spills() {
    return spills.sum();
  }

  public long returns() {
    return returns.sum();
  }

  @Override
  public String toString() {
    return ByteSize.format(spilledBytes()) + " in " + file.directory();
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
