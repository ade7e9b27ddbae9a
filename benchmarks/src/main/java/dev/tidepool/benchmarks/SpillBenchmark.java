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
 * A working set of three times what there is room for, one buffer after the other: each operation
 * changes a byte of the one that has waited longest, which brings it back and sends another away.
 *
 * <p>{@code spill} goes through a file; {@code disk} writes and reads as many bytes of a file of
 * the same size in the same directory, by the same calls and without a flush either. {@code
 * hostTier} goes from a full device to the host and back; {@code plainCopy} copies as many bytes as
 * often between as many blocks of the host. The property {@code tidepool.benchmarks.spill} names
 * the directory.
 */
@State(Scope.Benchmark)
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

  /** The size of a buffer. */
  @Param({"16", "64"})
  public int mib;

  private long bytes;
  private int turn;
  private Tidepool tidepool;
  private List<UnifiedBuffer<byte[]>> spilling;
  private Tidepool simulated;
  private List<UnifiedBuffer<byte[]>> evicting;
  private Kernel touch;
  private Path path;
  private FileChannel file;
  private Arena arena;
  private MemorySegment one;
  private MemorySegment two;
  private List<MemorySegment> waiting;
  private List<MemorySegment> resident;

  /** Fills all tiers. */
  @Setup
  public void open() throws IOException {
    bytes = (long) mib << 20;
    Path directory =
        Path.of(
            System.getProperty("tidepool.benchmarks.spill", System.getProperty("java.io.tmpdir")));
    tidepool =
        Discovery.using(
            List.of(),
            () ->
                Tidepool.open(
                    MemoryOptions.builder()
                        .memoryLimit(ROOM * bytes)
                        .spillDirectory(directory)
                        .build()));
    spilling = filled(tidepool.memory());
    SimulatedHardware hardware =
        SimulatedHardware.discrete()
            .withMemory(ROOM * bytes)
            .withMaximumAllocation(bytes)
            .withPinned(COUNT * bytes);
    simulated = Discovery.using(List.of(new SimulatedProvider(hardware)), Tidepool::open);
    evicting = filled(simulated.memory());
    touch =
        simulated
            .memory()
            .compile(
                KernelSource.java(
                    item -> item.array(0).set(ValueLayout.JAVA_BYTE, 0, (byte) 1), BYTES));
    arena = Arena.ofShared();
    one = arena.allocate(bytes, 4096).fill((byte) 1);
    two = arena.allocate(bytes, 4096).fill((byte) 2);
    waiting = blocks(COUNT);
    resident = blocks(ROOM);
    path = Files.createTempFile(directory, "tidepool-benchmark-", ".tmp");
    file =
        FileChannel.open(
            path,
            Set.of(
                StandardOpenOption.READ,
                StandardOpenOption.WRITE,
                StandardOpenOption.DELETE_ON_CLOSE));
    for (int i = 0; i <= COUNT - ROOM; i++) {
      write(i * bytes);
    }
  }

  private List<MemorySegment> blocks(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> arena.allocate(bytes, 4096).fill((byte) i))
        .toList();
  }

  private List<UnifiedBuffer<byte[]>> filled(UnifiedMemoryManager memory) {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    for (int i = 0; i < COUNT; i++) {
      UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes);
      buffer.fill((byte) i);
      buffers.add(buffer);
    }
    return buffers;
  }

  /** Closes all. */
  @TearDown
  public void close() throws IOException {
    tidepool.close();
    simulated.close();
    file.close();
    arena.close();
  }

  private int next() {
    turn = (turn + 1) % COUNT;
    return turn;
  }

  /** One buffer comes back from the file, another goes there. */
  @Benchmark
  public void spill() {
    spilling.get(next()).copyFrom(new byte[] {1}, 0, 0, 1);
  }

  /** One read and one write of as many bytes. */
  @Benchmark
  public void disk() throws IOException {
    int places = COUNT - ROOM + 1;
    int place = next() % places;
    write((long) place * bytes);
    read((long) ((place + 1) % places) * bytes);
  }

  private void write(long position) throws IOException {
    for (long at = 0; at < bytes; at += STEP) {
      ByteBuffer part = one.asSlice(at, Math.min(STEP, bytes - at)).asByteBuffer();
      while (part.hasRemaining()) {
        file.write(part, position + at + part.position());
      }
    }
  }

  private void read(long position) throws IOException {
    for (long at = 0; at < bytes; at += STEP) {
      ByteBuffer part = two.asSlice(at, Math.min(STEP, bytes - at)).asByteBuffer();
      while (part.hasRemaining()) {
        file.read(part, position + at + part.position());
      }
    }
  }

  /** One buffer comes to the device, another goes to the host. */
  @Benchmark
  public void hostTier() {
    touch.execute(Arguments.of("y", evicting.get(next())), LaunchRange.of(1));
  }

  /** Two copies of as many bytes. */
  @Benchmark
  public void plainCopy() {
    int arriving = next();
    MemorySegment room = resident.get(arriving % ROOM);
    MemorySegment.copy(room, 0, waiting.get((arriving + COUNT - ROOM) % COUNT), 0, bytes);
    MemorySegment.copy(waiting.get(arriving), 0, room, 0, bytes);
  }
}
