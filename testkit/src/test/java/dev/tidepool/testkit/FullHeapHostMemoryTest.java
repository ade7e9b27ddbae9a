package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.host.HostBlock;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.PinnedBudget;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A heap that is full anywhere in an allocation of host memory leaks no memory and no budget. */
@ExtendWith(QuietLog.class)
@Timeout(240)
class FullHeapHostMemoryTest {
  /** Calls in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 3;

  private static final long LARGE = 512L << 20;

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void nothingIsLeft(boolean locked) throws Exception {
    FullHeap.run(Scenario.class, boolean.class, locked);
  }

  /** What the test does, with a library whose heap can be full. */
  static final class Scenario implements Callable<Void> {
    private final boolean locked;
    private final MemoryAllocator allocator = new MemoryAllocator();
    private final PinnedBudget budget = new PinnedBudget(1 << 20);

    Scenario(boolean locked) {
      this.locked = locked;
    }

    @Override
    public Void call() throws IOException {
      Supplier<@Nullable HostBlock> call =
          locked
              ? () -> allocator.tryAllocateLocked(HostRequest.of(4096), budget).orElse(null)
              : () -> allocator.allocate(LARGE);
      free(call.get());
      long before = addressSpace();
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        HostBlock block = null;
        boolean failed;
        FullHeap.fillUpAfter(number, false);
        try {
          block = call.get();
        } catch (OutOfMemoryError full) {
          // There is no block.
        } finally {
          failed = FullHeap.clear();
        }
        clean = failed ? 0 : clean + 1;
        String where = "with a full heap after " + number + " allocations";
        assertThat(allocator.statistics().allocated().blocks())
            .as(where)
            .isEqualTo(block == null ? 0 : 1);
        free(block);
        assertThat(allocator.statistics().allocated().bytes()).as(where).isZero();
        assertThat(budget.usedBytes()).as(where).isZero();
        assertThat(addressSpace() - before).as(where).isLessThan(LARGE);
      }
      return null;
    }

    private static void free(@Nullable HostBlock block) {
      if (block != null) {
        block.free();
      }
    }

    /** Bytes of addresses that the process has, where the system tells. */
    private static long addressSpace() throws IOException {
      Path pages = Path.of("/proc/self/statm");
      return Files.exists(pages) ? 4096 * Long.parseLong(Files.readString(pages).split(" ")[0]) : 0;
    }
  }
}
