package dev.tidepool.benchmarks;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Memory that two processes share, compared with memory of this process alone. Measures opening the
 * memory, which another process holds, and computing with 16 MiB of it.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class SharedBufferBenchmark {
  private static final int FLOATS = 4 << 20;
  private static final String NAME = "benchmark";

  private Path folder;
  private Process holder;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private UnifiedBuffer<float[]> shared;
  private UnifiedBuffer<float[]> alone;
  private float[] array;
  private Kernel kernel;

  /** The other process: creates a buffer and keeps it until its input ends. */
  static final class Holder {
    private Holder() {}

    /** Creates the buffer in the folder that the argument names. */
    public static void main(String[] arguments) throws IOException {
      try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(in(Path.of(arguments[0])));
          UnifiedBuffer<float[]> buffer = memory.createShared(ElementType.FLOAT, FLOATS, NAME)) {
        System.out.println(buffer.length());
        while (System.in.read() >= 0) {
          // Waits until the benchmark ends.
        }
      }
    }
  }

  private static MemoryOptions in(Path folder) {
    return MemoryOptions.builder().sharedDirectory(folder).build();
  }

  /** Starts the other process, and touches all memory once. */
  @Setup
  public void open() throws IOException {
    Path memoryFolder = Path.of("/dev/shm");
    folder =
        Files.isWritable(memoryFolder)
            ? Files.createTempDirectory(memoryFolder, "tidepool-benchmark")
            : Files.createTempDirectory("tidepool-benchmark");
    holder =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Holder.class.getName(),
                folder.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    if (holder.getInputStream().read() < 0) {
      throw new IOException("the other process did not start");
    }
    tidepool = Tidepool.open(in(folder));
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    alone = memory.allocate(ElementType.FLOAT, FLOATS, MemoryLocation.HOST);
    shared = memory.createShared(ElementType.FLOAT, FLOATS, "access");
    alone.fill((byte) 0);
    shared.fill((byte) 0);
    array = new float[FLOATS];
    kernel = memory.compile(KernelSource.elementwise("x = 0.5 * x + 1"));
  }

  /** Stops the other process. */
  @TearDown
  public void close() throws IOException, InterruptedException {
    tidepool.close();
    holder.getOutputStream().close();
    holder.waitFor();
    Files.delete(folder);
  }

  /** Opens the buffer of the other process, and closes it. */
  @Benchmark
  @ComparedWith("bareMapAndUnmap")
  public long openAndClose() {
    try (UnifiedBuffer<float[]> buffer = memory.openShared(ElementType.FLOAT, NAME)) {
      return buffer.length();
    }
  }

  /** Opens and maps a file naively, by a name that both processes know. */
  @Benchmark
  public long bareMapAndUnmap() throws IOException {
    try (Arena arena = Arena.ofShared();
        FileChannel channel =
            FileChannel.open(
                folder.resolve(NAME + ".shared"),
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
      return channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size(), arena).byteSize();
    }
  }

  /** Reads the host's view of shared memory in a loop. */
  @Benchmark
  @ComparedWith("sumAlone")
  public float sumShared() {
    return sum(shared.asReadOnlySegment());
  }

  /** Reads the host's view of memory of this process alone in a loop. */
  @Benchmark
  public float sumAlone() {
    return sum(alone.asReadOnlySegment());
  }

  private static float sum(MemorySegment floats) {
    float sum = 0;
    for (long i = 0; i < FLOATS; i++) {
      sum += floats.getAtIndex(ValueLayout.JAVA_FLOAT, i);
    }
    return sum;
  }

  /** Copies an array to shared memory. */
  @Benchmark
  @ComparedWith("copyInAlone")
  public void copyInShared() {
    shared.copyFrom(array);
  }

  /** Copies an array to memory of this process alone. */
  @Benchmark
  public void copyInAlone() {
    alone.copyFrom(array);
  }

  /** Runs a CPU kernel on shared memory. */
  @Benchmark
  @ComparedWith("kernelAlone")
  public void kernelShared() {
    kernel.execute(Arguments.of("x", shared));
  }

  /** Runs a CPU kernel on memory of this process alone. */
  @Benchmark
  public void kernelAlone() {
    kernel.execute(Arguments.of("x", alone));
  }
}
