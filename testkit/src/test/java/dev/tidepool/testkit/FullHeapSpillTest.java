package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A heap that is full anywhere between a buffer, its other copy and the spill file loses no bytes,
 * no block and no part of the file.
 */
@ExtendWith(QuietLog.class)
@Timeout(240)
class FullHeapSpillTest {
  /** Accesses in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 5;

  private static final int MEBIBYTE = 1 << 20;

  @TempDir private static Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"cpu:0", "simulated:0"})
  void nothingIsLost(String accelerator) throws Exception {
    FullHeap.run(Scenario.class, String[].class, new String[] {accelerator, directory.toString()});
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aFileThatCannotBeUsedIsClosed() throws Exception {
    Class<?> type = FullHeap.loader().loadClass("dev.tidepool.runtime.storage.SpillFile");
    Method open = type.getMethod("open", Path.class);
    ((AutoCloseable) open.invoke(null, directory)).close();
    boolean failed = true;
    for (int number = 0; failed; number++) {
      FullHeap.fillUpAfter(number, false);
      try {
        ((AutoCloseable) open.invoke(null, directory)).close();
      } catch (InvocationTargetException full) {
        // There is no file.
      } finally {
        failed = FullHeap.clear();
      }
      assertThat(openFiles()).as("with a full heap after %s allocations", number).isZero();
    }
  }

  private static long openFiles() throws IOException {
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      return descriptors.filter(FullHeapSpillTest::isOfDirectory).count();
    }
  }

  private static boolean isOfDirectory(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).startsWith(directory.toRealPath());
    } catch (IOException closedMeanwhile) {
      return false;
    }
  }

  @Test
  void droppedSpaceIsTakenAgain() throws Exception {
    Class<?> type = FullHeap.loader().loadClass("dev.tidepool.runtime.storage.SpillFile");
    Object file = type.getMethod("open", Path.class).invoke(null, directory);
    boolean failed = true;
    for (int number = 0; failed; number++) {
      List<Object> extents = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        extents.add(call(file, "reserve", 10_000L));
      }
      FullHeap.fillUpAfter(number, false);
      List<Throwable> thrown = new ArrayList<>();
      for (int i : new int[] {1, 3, 2, 4, 0}) {
        try {
          call(extents.get(i), "drop");
        } catch (InvocationTargetException e) {
          thrown.add(e.getCause());
        }
      }
      failed = FullHeap.clear();
      assertThat(thrown).as("with a full heap after %s allocations", number).isEmpty();
      assertThat(call(file, "spilledBytes")).isEqualTo(0L);
      // What was not given back yet is given back now.
      call(call(file, "reserve", 1L), "drop");
      Field space = type.getDeclaredField("space");
      space.setAccessible(true);
      assertThat(call(space.get(file), "end"))
          .as("the end of the file with a full heap after %s allocations", number)
          .isEqualTo(0L);
    }
    ((AutoCloseable) file).close();
  }

  private static Object call(Object target, String name, Object... arguments) throws Exception {
    Class<?>[] longs = new Class<?>[arguments.length];
    Arrays.fill(longs, long.class);
    Method method = target.getClass().getDeclaredMethod(name, longs);
    method.setAccessible(true);
    return method.invoke(target, arguments);
  }

  /** What the test does, with a library whose heap can be full. */
  static final class Scenario implements Callable<Void> {
    private final String accelerator;
    private final Path directory;
    private final List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    private final byte[] seen = new byte[MEBIBYTE];

    Scenario(String[] arguments) {
      accelerator = arguments[0];
      directory = Path.of(arguments[1]);
    }

    @Override
    public Void call() {
      SimulatedProvider simulated =
          new SimulatedProvider(
              SimulatedHardware.discrete()
                  .withMemory(2 * MEBIBYTE)
                  .withMaximumAllocation(MEBIBYTE));
      MemoryOptions options =
          MemoryOptions.builder().memoryLimit(3 * MEBIBYTE).spillDirectory(directory).build();
      Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options));
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(accelerator));
      for (int i = 0; i < 5; i++) {
        buffers.add(memory.allocate(ElementType.BYTE, MEBIBYTE, MemoryLocation.DEVICE));
        buffers.get(i).copyFrom(Patterns.array(ElementType.BYTE, MEBIBYTE, i));
      }
      assertThat(memory.statistics().spills()).isPositive();
      failEverywhere(false);
      failEverywhere(true);
      buffers.forEach(UnifiedBuffer::close);
      memory.synchronize();
      assertThat(memory.buffers()).isEmpty();
      assertThat(memory.statistics().spilledBytes()).isZero();
      memory.trimExcess();
      assertThat(memory.statistics().reservedBytes()).isZero();
      tidepool.close();
      Leftovers.assertNone(simulated);
      return null;
    }

    /** Each access brings a buffer back from the file, and another one goes there. */
    private void failEverywhere(boolean stays) {
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        UnifiedBuffer<byte[]> buffer = buffers.get(number % buffers.size());
        boolean failed;
        FullHeap.fillUpAfter(number, stays);
        try {
          if (number % 2 == 0) {
            buffer.prefetchToDevice();
          } else {
            buffer.prefetchToHost();
          }
          buffer.copyTo(seen);
        } catch (OutOfMemoryError | TidepoolException full) {
          // The bytes are where they were.
        } finally {
          failed = FullHeap.clear();
        }
        clean = failed ? 0 : clean + 1;
        for (int i = 0; i < buffers.size(); i++) {
          read(buffers.get(i));
          Patterns.assertEqual(
              seen,
              Patterns.array(ElementType.BYTE, MEBIBYTE, i),
              "buffer " + i + " with a full heap after " + number + " allocations");
        }
      }
    }

    private void read(UnifiedBuffer<byte[]> buffer) {
      while (true) {
        try {
          buffer.copyTo(seen);
          return;
        } catch (OutOfMemoryError | TidepoolException late) {
          // A prefetch keeps its failure for the next use. While it runs, it uses what others need.
          if (!isFull(late) && !(late instanceof OutOfDeviceMemoryException)) {
            throw late;
          }
        }
      }
    }

    private static boolean isFull(Throwable failure) {
      return String.valueOf(failure.getMessage()).contains("on purpose")
          || (failure.getCause() != null && isFull(failure.getCause()));
    }
  }
}
