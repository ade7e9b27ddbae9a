package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.link.CoalescedCopy;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.HostRegion;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.ServiceLoader;
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
 * Writes a thousand small pieces to scattered offsets of a buffer of the first OpenCL device:
 * coalesced, or with one blocking driver call each.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class CoalescedCopyBenchmark {
  private static final int COUNT = 1000;

  /** Bytes of one write. */
  @Param({"256", "4096", "32768"})
  public int bytes;

  private Device device;
  private StagingBlocks staging;
  private DeviceLink link;
  private Block block;
  private List<CoalescedCopy.Move> moves;
  private BareOpenCl bare;
  private MemorySegment bareBuffer;
  private List<MemorySegment> sources;
  private List<Long> offsets;

  /** Opens the device twice, through the library and through the bare driver. */
  @Setup
  public void open() {
    System.setProperty("tidepool.opencl.sharedMemory", "false");
    System.setProperty("tidepool.opencl.svm", "none");
    device =
        ServiceLoader.load(AcceleratorProvider.class).stream()
            .map(ServiceLoader.Provider::get)
            .filter(provider -> provider.name().equals("opencl"))
            .flatMap(provider -> provider.discover().devices().stream())
            .findFirst()
            .orElseThrow();
    staging = new StagingBlocks(device);
    link = new DeviceLink(device, staging, new NoStagingThreads(), 4 << 20, () -> {});
    long stride = 2L * bytes;
    block = device.allocate(COUNT * stride, 64, BlockKind.DEVICE);
    bare = new BareOpenCl();
    bareBuffer = bare.allocate(COUNT * stride);
    Random random = new Random(1);
    moves = new ArrayList<>();
    sources = new ArrayList<>();
    offsets = new ArrayList<>();
    for (int i = 0; i < COUNT; i++) {
      byte[] array = new byte[bytes];
      random.nextBytes(array);
      long offset = i * stride + 4L * random.nextInt(bytes / 4);
      moves.add(
          new CoalescedCopy.Move(
              new HostRegion.Elements<>(ElementType.BYTE, array, 0, bytes), block, offset));
      sources.add(Arena.global().allocate(bytes, 64));
      offsets.add(offset);
    }
  }

  /** Closes both sides. */
  @TearDown
  public void close() {
    bare.free(bareBuffer);
    bare.close();
    link.close();
    staging.close();
    block.free();
    device.close();
  }

  /** Writes coalesced, from arrays. */
  @Benchmark
  @ComparedWith({"oneByOne", "bareWrites"})
  public Object gathered() {
    return link.coalesced().upload(moves);
  }

  /** Writes one piece after another, from arrays. */
  @Benchmark
  public void oneByOne() {
    for (CoalescedCopy.Move move : moves) {
      link.upload(move.bytes(), move.block(), move.offset());
    }
  }

  /** Writes with one blocking driver call each, from native memory. */
  @Benchmark
  public void bareWrites() {
    for (int i = 0; i < COUNT; i++) {
      bare.write(bareBuffer, offsets.get(i), sources.get(i));
    }
  }
}
