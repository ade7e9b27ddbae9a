package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Allocates buffers under a limit with room for a thousand, while many more are open: the others
 * are in the spill file. Each operation spills one buffer.
 *
 * <p>{@code file} writes and reads the bytes of one buffer in a file of the same size and
 * directory, on the calling thread. This is the cost of one spill and one read without Tidepool.
 * The property {@code tidepool.benchmarks.spill} names the directory.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class FullMemoryBenchmark {
  /** The number of buffers that fit. */
  private static final int ROOM = 1024;

  private static Path directory() {
    return Path.of(
        System.getProperty("tidepool.benchmarks.spill", System.getProperty("java.io.tmpdir")));
  }

  /** The open buffers, the oldest first. */
  @State(Scope.Benchmark)
  public static class Full {
    /** The number of buffers beyond those that fit. */
    @Param({"1000", "2000", "4000", "8000"})
    public int beyond;

    /** The size of a buffer. */
    @Param("1024")
    public int size;

    private byte[] bytes;
    private final ArrayDeque<UnifiedBuffer<byte[]>> buffers = new ArrayDeque<>();
    private Tidepool tidepool;
    private UnifiedMemoryManager memory;

    /** Fills memory and the spill file. */
    @Setup
    public void open() {
      bytes = new byte[size];
      MemoryOptions options =
          MemoryOptions.builder()
              .memoryLimit((long) ROOM * size)
              .spillDirectory(directory())
              .build();
      tidepool = Discovery.using(List.of(), () -> Tidepool.open(options));
      memory = tidepool.memory();
      for (int i = 0; i < ROOM + beyond; i++) {
        add();
      }
    }

    private void add() {
      UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, size);
      buffer.copyFrom(bytes);
      buffers.add(buffer);
    }

    /** Closes all. */
    @TearDown
    public void close() {
      tidepool.close();
    }
  }

  /** A file with room for as many buffers. */
  @State(Scope.Benchmark)
  public static class Disk {
    private static final long PAGE = 4096;

    private Arena arena;
    private MemorySegment bytes;
    private FileChannel file;
    private long step;
    private int places;
    private int turn;

    /** Writes the file. */
    @Setup
    public void open(Full full) throws IOException {
      arena = Arena.ofShared();
      bytes = arena.allocate(full.size);
      step = Math.ceilDiv(full.size, PAGE) * PAGE;
      places = full.beyond;
      file =
          FileChannel.open(
              Files.createTempFile(directory(), "tidepool-benchmark-", ".tmp"),
              Set.of(
                  StandardOpenOption.READ,
                  StandardOpenOption.WRITE,
                  StandardOpenOption.DELETE_ON_CLOSE));
      for (int i = 0; i < places; i++) {
        file.write(bytes.asByteBuffer(), i * step);
      }
    }

    private long next() {
      turn = (turn + 1) % places;
      return turn * step;
    }

    /** Closes all. */
    @TearDown
    public void close() throws IOException {
      file.close();
      arena.close();
    }
  }

  /** Allocates and writes a buffer, and closes the oldest, which is in the file. */
  @Benchmark
  public void allocateWriteCloseOldest(Full full) {
    full.add();
    full.buffers.remove().close();
  }

  /** Reads the least recently used buffer back from the file. */
  @Benchmark
  public void readBack(Full full) {
    UnifiedBuffer<byte[]> oldest = full.buffers.remove();
    oldest.copyTo(full.bytes);
    full.buffers.add(oldest);
  }

  /** Writes and reads the bytes of a buffer, without Tidepool. */
  @Benchmark
  public int file(Disk disk) throws IOException {
    int written = disk.file.write(disk.bytes.asByteBuffer(), disk.next());
    return written + disk.file.read(disk.bytes.asByteBuffer(), disk.next());
  }
}
