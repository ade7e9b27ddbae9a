package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.testkit.simulated.FailureModel;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments.ArgumentSet;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Random graphs of kernels and copies on devices that order launches, in which one launch fails.
 *
 * <p>The device is held until all operations of a round are asked for, so a model knows which share
 * a failure: those that use what the failed launch, or another one of these, was to write. They
 * must fail with that one cause, and all others must have the values of the order in which they
 * were asked for.
 */
@Timeout(300)
class DeviceOrderWorkloadTest {
  private static final int LENGTH = 64;
  private static final int BUFFERS = 6;
  private static final int OPERATIONS = 50;
  private static final int ROUNDS = Integer.getInteger("tidepool.test.deviceOrder.rounds", 40);

  static Stream<ArgumentSet> devices() {
    List<ArgumentSet> devices = new ArrayList<>();
    for (FailureModel model : FailureModel.values()) {
      for (LaunchOrder order : LaunchOrder.values()) {
        SimulatedHardware hardware =
            SimulatedHardware.discrete().withFailures(model).withLaunchOrder(order);
        devices.add(
            org.junit.jupiter.params.provider.Arguments.argumentSet(
                model + ", " + order, hardware, model));
        devices.add(
            org.junit.jupiter.params.provider.Arguments.argumentSet(
                model + ", " + order + ", jitter",
                hardware.withJitter(Duration.ofNanos(300_000)),
                model));
      }
    }
    return devices.stream();
  }

  /** One operation that was asked for. */
  private record Asked(
      String what,
      boolean isLaunch,
      List<Cell> reads,
      List<Cell> writes,
      CompletableFuture<Void> future) {}

  /** A buffer, what the model says is in it, and which operation wrote that. */
  private static final class Cell {
    UnifiedBuffer<int[]> buffer;
    int value;

    Cell(UnifiedBuffer<int[]> buffer) {
      this.buffer = buffer;
    }
  }

  private record Read(int[] array, int value, int operation) {}

  /** One round on a device of its own. */
  private static final class Round {
    private final Random random;
    private final FailureModel model;
    private final SimulatedProvider provider;
    private final UnifiedMemoryManager memory;
    private final Kernel twice;
    private final Kernel sum;
    private final List<Cell> cells = new ArrayList<>();
    private final List<Asked> asked = new ArrayList<>();
    private final List<Read> reads = new ArrayList<>();

    Round(long seed, FailureModel model, SimulatedProvider provider, Tidepool tidepool) {
      this.random = new Random(seed);
      this.model = model;
      this.provider = provider;
      this.memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      this.twice = memory.compile(KernelSource.elementwise("a = a * 2 + 1"));
      this.sum = memory.compile(KernelSource.elementwise("c = a + b"));
      for (int i = 0; i < BUFFERS; i++) {
        cells.add(fresh());
      }
    }

    private Cell fresh() {
      MemoryLocation location = random.nextBoolean() ? MemoryLocation.DEVICE : MemoryLocation.HOST;
      Cell cell = new Cell(memory.allocate(ElementType.INT, LENGTH, location));
      cell.value = random.nextInt(100);
      cell.buffer.copyFrom(filled(cell.value));
      return cell;
    }

    private static int[] filled(int value) {
      int[] values = new int[LENGTH];
      Arrays.fill(values, value);
      return values;
    }

    private Cell any() {
      return cells.get(random.nextInt(cells.size()));
    }

    void run() throws InterruptedException {
      provider.device("simulated:0").pause();
      provider.device("simulated:0").failLaunch(1 + random.nextInt(OPERATIONS / 2));
      for (int i = 0; i < OPERATIONS; i++) {
        ask();
      }
      provider.device("simulated:0").resume();
      check();
    }

    private void ask() {
      int kind = random.nextInt(10);
      Cell a = any();
      if (kind < 4) {
        add("twice", true, List.of(a), List.of(a), twice.executeAsync(Arguments.of("a", a.buffer)));
        a.value = a.value * 2 + 1;
      } else if (kind < 7) {
        Cell b = any();
        Cell c = any();
        if (a != b && a != c && b != c) {
          Arguments arguments = Arguments.of("a", a.buffer, "b", b.buffer, "c", c.buffer);
          add("sum", true, List.of(a, b), List.of(c), sum.executeAsync(arguments));
          c.value = a.value + b.value;
        }
      } else if (kind == 7) {
        int[] array = filled(-77);
        reads.add(new Read(array, a.value, asked.size()));
        add("read", false, List.of(a), List.of(), a.buffer.copyToAsync(array));
      } else if (kind == 8) {
        int value = random.nextInt(100);
        add("write", false, List.of(), List.of(a), a.buffer.copyFromAsync(filled(value)));
        a.value = value;
      } else {
        // Its block may pass on to the next buffer, while kernels use it.
        a.buffer.close();
        cells.remove(a);
        Cell next = new Cell(memory.allocate(ElementType.INT, LENGTH, MemoryLocation.DEVICE));
        next.value = random.nextInt(100);
        cells.add(next);
        add(
            "first",
            false,
            List.of(),
            List.of(next),
            next.buffer.copyFromAsync(filled(next.value)));
      }
    }

    private void add(
        String what,
        boolean isLaunch,
        List<Cell> read,
        List<Cell> written,
        CompletableFuture<Void> future) {
      asked.add(new Asked(what, isLaunch, read, written, future));
    }

    private void check() throws InterruptedException {
      List<@Nullable Throwable> failures = new ArrayList<>();
      for (Asked each : asked) {
        failures.add(failureOf(each));
      }
      Throwable cause = failures.stream().filter(f -> f != null).findFirst().orElse(null);
      if (cause == null) {
        fail("no launch failed, of %s", asked);
      }
      if (model == FailureModel.STICKY) {
        // Everything may have failed. What has not, has the right values.
        checkReads(failures);
        return;
      }
      int root = failures.indexOf(cause);
      assertThat(asked.get(root).isLaunch()).as("what failed first is a launch").isTrue();
      List<Cell> broken = new ArrayList<>();
      for (int i = 0; i < asked.size(); i++) {
        Asked each = asked.get(i);
        boolean shares =
            i == root
                || Stream.concat(each.reads().stream(), each.writes().stream())
                    .anyMatch(broken::contains);
        if (shares) {
          broken.addAll(each.writes());
          assertThat(failures.get(i)).as("operation %d, %s", i, each.what()).isSameAs(cause);
        } else {
          assertThat(failures.get(i)).as("operation %d, %s", i, each.what()).isNull();
        }
      }
      checkReads(failures);
      for (Cell cell : cells) {
        if (!broken.contains(cell)) {
          assertThat(contents(cell)).containsOnly(cell.value);
        }
        cell.buffer.copyFrom(filled(5));
        twice.executeAsync(Arguments.of("a", cell.buffer));
        assertThat(contents(cell)).containsOnly(11);
      }
    }

    private void checkReads(List<@Nullable Throwable> failures) {
      for (Read read : reads) {
        boolean failed = failures.get(read.operation()) != null;
        assertThat(read.array())
            .as("read %d", read.operation())
            .containsOnly(failed ? -77 : read.value());
      }
    }

    private static int[] contents(Cell cell) {
      int[] values = new int[LENGTH];
      cell.buffer.copyTo(values);
      return values;
    }

    private static @Nullable Throwable failureOf(Asked operation) throws InterruptedException {
      try {
        operation.future().get(60, TimeUnit.SECONDS);
        return null;
      } catch (ExecutionException e) {
        return e.getCause();
      } catch (java.util.concurrent.TimeoutException e) {
        throw new AssertionError(operation.what() + " does not end", e);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("devices")
  void operationsShareFailuresAsTheyWereAskedFor(SimulatedHardware hardware, FailureModel model)
      throws InterruptedException {
    for (long seed = 0; seed < ROUNDS; seed++) {
      SimulatedProvider provider = new SimulatedProvider(hardware);
      try (Tidepool tidepool = Discovery.using(List.of(provider), Tidepool::open)) {
        new Round(seed, model, provider, tidepool).run();
      } catch (AssertionError e) {
        throw new AssertionError("with seed " + seed + ": " + e.getMessage(), e);
      }
      assertThat(provider.violations()).as("seed %d", seed).isEmpty();
      assertThat(provider.device("simulated:0").openEvents()).as("seed %d", seed).isZero();
      assertThat(provider.device("simulated:0").liveBlocks()).as("seed %d", seed).isZero();
    }
  }
}
