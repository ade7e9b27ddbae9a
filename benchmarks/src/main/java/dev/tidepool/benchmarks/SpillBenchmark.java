package dev.tidepool.benchmarks;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
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
 * A working set of three times the available memory, used one buffer after the other. Each
 * operation changes a byte of the least recently used buffer, which reads it back and spills
 * another.
 *
 * <p>{@code spill} uses a file. {@code disk} writes and reads as many bytes of a file of the same
 * size in the same directory, by the same calls and also without a flush. {@code hostTier} copies
 * between a full device and the host. {@code plainCopy} makes as many copies between host blocks,
 * on one thread. The property {@code tidepool.benchmarks.spill} names the directory.
 *
 * <p>Each row has its own state, so that its memory is the first that its process allocates. Copies
 * between pages that the system provides later may be a fifth faster.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 2, time = 3)
@Measurement(iterations = 5, time = 3)
@Fork(1)
public class SpillBenchmark {
  private static final int ROOM = 4;
  private static final int COUNT = 3 * ROOM;
  private static final int STEP = 8 << 20;
  private static final KernelParameter BYTES = KernelParameter.inout("y", ElementType.BYTE);

  private static Path directory() {
    return Path.of(
        System.getProperty("tidepool.benchmarks.spill", System.getProperty("java.io.tmpdir")));
  }

  private static List<UnifiedBuffer<byte[]>> filled(UnifiedMemoryManager memory, long bytes) {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    for (int i = 0; i < COUNT; i++) {
      UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes);
      buffer.fill((byte) i);
      buffers.add(buffer);
    }
    return buffers;
  }

  /** The index of the next buffer, for one size. */
  @State(Scope.Benchmark)
  public static class Turns {
    /** The size of a buffer. */
    @Param({"16", "64"})
    public int mib;

    private int turn;

    private long bytes() {
      return (long) mib << 20;
    }

    private int next() {
      turn = (turn + 1) % COUNT;
      return turn;
    }
  }

  /** Buffers under a limit, most of them in a file. */
  @State(Scope.Benchmark)
  public static class Spilling {
    private Tidepool tidepool;
    private List<UnifiedBuffer<byte[]>> buffers;

    /** Fills memory and the file. */
    @Setup
    public void open(Turns turns) {
      MemoryOptions options =
          MemoryOptions.builder()
              .memoryLimit(ROOM * turns.bytes())
              .spillDirectory(directory())
              .build();
      tidepool = Discovery.using(List.of(), () -> Tidepool.open(options));
      buffers = filled(tidepool.memory(), turns.bytes());
    }

    /** Closes everything. */
    @TearDown
    public void close() {
      tidepool.close();
    }
  }

  /** A file of the size of the spill file. */
  @State(Scope.Benchmark)
  public static class Disk {
    private static final int PLACES = COUNT - ROOM + 1;

    private FileChannel file;
    private Arena arena;
    private MemorySegment one;
    private MemorySegment two;

    /** Writes the file. */
    @Setup
    public void open(Turns turns) throws IOException {
      arena = Arena.ofShared();
      one = arena.allocate(turns.bytes(), 4096).fill((byte) 1);
      two = arena.allocate(turns.bytes(), 4096).fill((byte) 2);
      file =
          FileChannel.open(
              Files.createTempFile(directory(), "tidepool-benchmark-", ".tmp"),
              Set.of(
                  StandardOpenOption.READ,
                  StandardOpenOption.WRITE,
                  StandardOpenOption.DELETE_ON_CLOSE));
      for (int i = 0; i < PLACES; i++) {
        write(i);
      }
    }

    private void write(int place) throws IOException {
      long position = place * one.byteSize();
      for (long at = 0; at < one.byteSize(); at += STEP) {
        ByteBuffer part = one.asSlice(at, Math.min(STEP, one.byteSize() - at)).asByteBuffer();
        while (part.hasRemaining()) {
          file.write(part, position + at + part.position());
        }
      }
    }

    private void read(int place) throws IOException {
      long position = place * two.byteSize();
      for (long at = 0; at < two.byteSize(); at += STEP) {
        ByteBuffer part = two.asSlice(at, Math.min(STEP, two.byteSize() - at)).asByteBuffer();
        while (part.hasRemaining()) {
          file.read(part, position + at + part.position());
        }
      }
    }

    /** Closes everything. */
    @TearDown
    public void close() throws IOException {
      file.close();
      arena.close();
    }
  }

  /** Buffers of a simulated device with room for a third of them. */
  @State(Scope.Benchmark)
  public static class Evicting {
    private Tidepool tidepool;
    private List<UnifiedBuffer<byte[]>> buffers;
    private Kernel touch;

    /** Fills the device and the host. */
    @Setup
    public void open(Turns turns) {
      SimulatedHardware hardware =
          SimulatedHardware.discrete()
              .withMemory(ROOM * turns.bytes())
              .withMaximumAllocation(turns.bytes())
              .withPinned(COUNT * turns.bytes());
      tidepool = Discovery.using(List.of(new SimulatedProvider(hardware)), Tidepool::open);
      buffers = filled(tidepool.memory(), turns.bytes());
      touch =
          tidepool
              .memory()
              .compile(
                  KernelSource.java(
                      item -> item.array(0).set(ValueLayout.JAVA_BYTE, 0, (byte) 1), BYTES));
    }

    /** Closes everything. */
    @TearDown
    public void close() {
      tidepool.close();
    }
  }

  /** As many blocks of host memory. */
  @State(Scope.Benchmark)
  public static class Copying {
    private Arena arena;
    private List<MemorySegment> resident;
    private List<MemorySegment> waiting;

    /** Fills the blocks. */
    @Setup
    public void open(Turns turns) {
      arena = Arena.ofShared();
      resident = blocks(ROOM, turns.bytes());
      waiting = blocks(COUNT, turns.bytes());
    }

    private List<MemorySegment> blocks(int count, long bytes) {
      return IntStream.range(0, count)
          .mapToObj(i -> arena.allocate(bytes, 4096).fill((byte) i))
          .toList();
    }

    /** Frees the blocks. */
    @TearDown
    public void close() {
      arena.close();
    }
  }

  /** Reads one buffer back from the file, and spills another one. */
  @Benchmark
  @ComparedWith("disk")
  public void spill(Turns turns, Spilling spilling) {
    spilling.buffers.get(turns.next()).copyFrom(new byte[] {1}, 0, 0, 1);
  }

  /** Reads and writes as many bytes. */
  @Benchmark
  public void disk(Turns turns, Disk disk) throws IOException {
    int place = turns.next() % Disk.PLACES;
    disk.write(place);
    disk.read((place + 1) % Disk.PLACES);
  }

  /** Copies one buffer to the device, and another one to the host. */
  @Benchmark
  @ComparedWith("plainCopy")
  public void hostTier(Turns turns, Evicting evicting) {
    evicting.touch.execute(
        Arguments.of("y", evicting.buffers.get(turns.next())), LaunchRange.of(1));
  }

  /** Makes two copies of as many bytes. */
  @Benchmark
  public void plainCopy(Turns turns, Copying copying) {
    int arriving = turns.next();
    long bytes = turns.bytes();
    MemorySegment room = copying.resident.get(arriving % ROOM);
    MemorySegment leaving = copying.waiting.get((arriving + COUNT - ROOM) % COUNT);
    MemorySegment.copy(room, 0, leaving, 0, bytes);
    MemorySegment.copy(copying.waiting.get(arriving), 0, room, 0, bytes);
  }
}
