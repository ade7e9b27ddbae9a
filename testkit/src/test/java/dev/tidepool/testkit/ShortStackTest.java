package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A thread that runs out of stack anywhere in a call leaves every buffer usable, and what is closed
 * gets closed.
 */
@ExtendWith(QuietLog.class)
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShortStackTest {
  private static final long STACK_BYTES = 256 << 10;

  /** Successes one after the other until there is stack enough. */
  private static final int ENOUGH = 5;

  /** Classes that could not be initialized for want of stack would never be. */
  private static final int INITIALIZING = 3;

  /** After so many calls the methods are compiled, and some are inlined in their callers. */
  private static final int COMPILING = 10_000;

  private final SimulatedProvider simulated =
      new SimulatedProvider(SimulatedHardware.discrete(), SimulatedHardware.discrete());
  private final Tidepool tidepool =
      Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()));

  /**
   * Makes the call once at each depth of the stack, the deepest first, until there was stack enough
   * a few times.
   */
  @SuppressWarnings("InfiniteRecursion") // on purpose
  private static final class Dive implements Runnable {
    private final Runnable call;
    private final AtomicInteger overflows = new AtomicInteger();
    private final AtomicInteger successes = new AtomicInteger();
    private final AtomicReference<@Nullable Throwable> unexpected = new AtomicReference<>();

    Dive(Runnable call) {
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

  /**
   * Makes the call with less and less stack; how often there was not enough.
   *
   * @param calls the number of calls with enough stack before
   */
  private static int dive(String name, Runnable call, int calls) throws Exception {
    for (int i = 0; i < calls; i++) {
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

  @ParameterizedTest
  @ValueSource(strings = {"cpu:0", "simulated:0"})
  void everyCallLeavesTheBuffersUsable(String accelerator) throws Exception {
    Calls calls = new Calls(tidepool, accelerator, "simulated:1");
    int overflows = 0;
    for (Map.Entry<String, Runnable> call : calls.all().entrySet()) {
      overflows += dive(call.getKey(), call.getValue(), INITIALIZING);
      calls.use();
    }
    assertThat(overflows).isGreaterThan(1000);
    calls.close();
    assertThat(calls.memory().statistics().totalAllocated()).isZero();
  }

  /** A compiled method asks at its entry for the stack of all that is inlined in it. */
  @ParameterizedTest
  @ValueSource(strings = {"cpu:0", "simulated:0"})
  void compiledKernelCallsLeaveTheBuffersUsable(String accelerator) throws Exception {
    Calls calls = new Calls(tidepool, accelerator, "simulated:1");
    Map<String, Runnable> kernels = calls.all();
    kernels.keySet().removeIf(name -> !name.contains("kernel"));
    for (int round = 0; round < 2; round++) {
      for (Map.Entry<String, Runnable> call : kernels.entrySet()) {
        assertThat(dive(call.getKey(), call.getValue(), COMPILING)).isPositive();
        calls.use();
      }
    }
    calls.close();
    assertThat(calls.memory().statistics().totalAllocated()).isZero();
  }

  @AfterEach
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void everythingCloses() {
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
  }
}
