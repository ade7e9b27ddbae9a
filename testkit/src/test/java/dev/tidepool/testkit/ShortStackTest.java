package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.Transfer;
import dev.tidepool.TransferOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A thread that runs out of stack anywhere in a call leaves every buffer usable, and what is closed
 * gets closed.
 */
@ExtendWith(QuietLog.class)
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShortStackTest {
  private static final int LENGTH = 2048;
  private static final long STACK_BYTES = 256 << 10;

  /** Successes one after the other until there is stack enough. */
  private static final int ENOUGH = 5;

  private final SimulatedProvider simulated =
      new SimulatedProvider(SimulatedHardware.discrete(), SimulatedHardware.discrete());
  private final Tidepool tidepool =
      Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()));

  /** A call of the library. */
  private interface Call {
    void run();
  }

  /** What all calls of a test use. */
  private static final class Bench {
    private final UnifiedMemoryManager memory;
    private final UnifiedBuffer<int[]> buffer;
    private final UnifiedBuffer<int[]> other;
    private final UnifiedBuffer<int[]> far;
    private final Kernel kernel;
    private final int[] array = new int[LENGTH];

    Bench(UnifiedMemoryManager memory, UnifiedMemoryManager second) {
      this.memory = memory;
      buffer = memory.allocate(ElementType.INT, LENGTH);
      other = memory.allocate(ElementType.INT, LENGTH);
      far = second.allocate(ElementType.INT, LENGTH);
      kernel = memory.compile(KernelSource.elementwise("y = y + x"));
    }

    void close() {
      far.close();
      other.close();
      buffer.close();
    }
  }

  private static Map<String, Call> calls(Tidepool tidepool, Bench bench) {
    UnifiedBuffer<int[]> buffer = bench.buffer;
    UnifiedBuffer<int[]> other = bench.other;
    Map<String, Call> calls = new LinkedHashMap<>();
    calls.put("copyFrom", () -> buffer.copyFrom(bench.array));
    calls.put("copyTo", () -> buffer.copyTo(bench.array));
    calls.put("copyFromAsync", () -> buffer.copyFromAsync(bench.array).join());
    calls.put("copyToAsync", () -> buffer.copyToAsync(bench.array).join());
    calls.put("buffer to buffer", () -> buffer.copyFrom(other));
    calls.put("buffer to buffer in the background", () -> buffer.copyFromAsync(other).join());
    calls.put("between devices", () -> buffer.copyFrom(bench.far));
    calls.put("slice", () -> buffer.slice(7, 100).copyFrom(other.slice(100, 100)));
    calls.put("fill", () -> buffer.fill((byte) 3));
    calls.put("segment", () -> buffer.asSegment().set(ValueLayout.JAVA_INT, 0, 3));
    calls.put("read-only segment", () -> buffer.asReadOnlySegment().byteSize());
    calls.put(
        "map",
        () -> {
          try (HostMapping mapping = buffer.map(MapMode.READ_WRITE)) {
            mapping.segment().fill((byte) 1);
          }
        });
    calls.put("synchronize", buffer::synchronize);
    calls.put("prefetch to the device", buffer::prefetchToDevice);
    calls.put("prefetch to the host", buffer::prefetchToHost);
    calls.put("kernel", () -> bench.kernel.execute(Arguments.of("y", buffer, "x", other)));
    calls.put(
        "kernel in the background",
        () -> bench.kernel.executeAsync(Arguments.of("y", buffer, "x", other)).join());
    calls.put(
        "kernel over an array",
        () -> bench.kernel.execute(Arguments.of("y", buffer, "x", bench.array)));
    calls.put(
        "list of transfers",
        () ->
            bench
                .memory
                .transfers()
                .transfer(
                    List.of(Transfer.of(bench.array, buffer), Transfer.of(other, bench.array)),
                    TransferOptions.defaults()));
    calls.put(
        "scatter and gather",
        () -> {
          List<UnifiedBuffer<int[]>> parts =
              List.of(bench.far.slice(0, 1000), other.slice(1000, LENGTH - 1000));
          tidepool.peers().scatter(buffer, parts);
          tidepool.peers().gather(parts, buffer);
        });
    calls.put("broadcast", () -> tidepool.peers().broadcast(buffer, List.of(other, bench.far)));
    calls.put("close", () -> bench.memory.allocate(ElementType.INT, LENGTH).close());
    calls.put(
        "copyOf",
        () -> {
          UnifiedBuffer<int[]> copy = bench.memory.copyOf(bench.array);
          try {
            copy.fill((byte) 1);
          } finally {
            copy.close();
          }
        });
    calls.put(
        "close behind a kernel",
        () -> {
          UnifiedBuffer<int[]> passing =
              bench.memory.allocate(
                  ElementType.INT, LENGTH, Allocation.at(MemoryLocation.DEVICE));
          try {
            var _ = bench.kernel.executeAsync(Arguments.of("y", passing, "x", other));
          } finally {
            passing.close();
          }
        });
    calls.put("manager's synchronize", bench.memory::synchronize);
    calls.put("trim", bench.memory::trimExcess);
    calls.put("defragment", bench.memory::defragment);
    calls.put("snapshot", bench.memory::snapshot);
    return calls;
  }

  /**
   * Makes the call once at each depth of the stack, the deepest first, until there was stack enough
   * a few times.
   */
  @SuppressWarnings("InfiniteRecursion") // on purpose
  private static final class Dive implements Runnable {
    private final Call call;
    private final AtomicInteger overflows = new AtomicInteger();
    private final AtomicInteger successes = new AtomicInteger();
    private final AtomicReference<@Nullable Throwable> unexpected = new AtomicReference<>();

    Dive(Call call) {
      this.call = call;
    }

    @Override
    public void run() {
      try {
        down();
      } catch (StackOverflowError e) {
        overflows.incrementAndGet();
      }
    }

    private void down() {
      try {
        down();
      } catch (StackOverflowError e) {
        // The next one up tries.
      }
      if (successes.get() < ENOUGH && unexpected.get() == null) {
        attempt();
      }
    }

    private void attempt() {
      try {
        call.run();
        successes.incrementAndGet();
      } catch (StackOverflowError e) {
        successes.set(0);
        overflows.incrementAndGet();
      } catch (Throwable e) {
        successes.set(0);
        if (isOverflow(e)) {
          overflows.incrementAndGet();
        } else {
          unexpected.set(e);
        }
      }
    }

    private static boolean isOverflow(Throwable failure) {
      for (Throwable e = failure; e != null; e = e.getCause()) {
        if (e instanceof StackOverflowError) {
          return true;
        }
      }
      return false;
    }
  }

  /** Makes the call with less and less stack; how often there was not enough. */
  private int dive(String name, Call call) throws Exception {
    // Classes that could not be initialized for want of stack would never be.
    for (int i = 0; i < 3; i++) {
      call.run();
    }
    Dive dive = new Dive(call);
    Thread thread = new Thread(null, dive, name, STACK_BYTES);
    thread.setDaemon(true);
    thread.start();
    thread.join(TimeUnit.SECONDS.toMillis(60));
    assertThat(thread.isAlive())
        .as("'%s' hangs:%n%s", name, List.of(thread.getStackTrace()))
        .isFalse();
    assertThat(dive.unexpected.get()).as(name).isNull();
    assertThat(dive.successes.get()).as(name).isEqualTo(ENOUGH);
    return dive.overflows.get();
  }

  static Stream<String> accelerators() {
    return Stream.of("cpu:0", "simulated:0");
  }

  @ParameterizedTest
  @MethodSource("accelerators")
  void everyCallLeavesTheBufferUsable(String id) throws Exception {
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(id));
    Bench bench = new Bench(memory, tidepool.memory(tidepool.accelerator("simulated:1")));
    int overflows = 0;
    for (Map.Entry<String, Call> entry : calls(tidepool, bench).entrySet()) {
      overflows += dive(entry.getKey(), entry.getValue());
      int[] expected = new int[LENGTH];
      Arrays.setAll(expected, i -> 7 * i);
      int[] seen = new int[LENGTH];
      bench.buffer.copyFrom(expected);
      bench.kernel.execute(Arguments.of("y", bench.buffer, "x", bench.other));
      bench.buffer.copyFrom(expected);
      bench.buffer.copyTo(seen);
      assertThat(seen).isEqualTo(expected);
    }
    assertThat(overflows).isGreaterThan(1000);
    bench.close();
    memory.synchronize();
    assertThat(memory.statistics().totalAllocated()).isZero();
  }

  @AfterEach
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void everythingCloses() {
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }
}
