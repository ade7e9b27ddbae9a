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
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The program of {@link ShortStackTest}: makes calls with less and less stack, and uses and closes
 * the same buffers afterwards. It has a JVM of its own, because a class of the JDK that is
 * initialized while the stack ends cannot be used any more.
 */
final class ShortStack {
  /** What the program prints when it has found nothing wrong. */
  static final String DONE = "done";

  private static final Logger LIBRARY = Logger.getLogger("dev.tidepool");
  private static final long STACK_BYTES = 256 << 10;

  /** Successes one after the other until there is stack enough. */
  private static final int ENOUGH = 5;

  /** A class that fails to initialize because there is no stack is never initialized. */
  private static final int INITIALIZING = 3;

  /** After so many calls the methods are compiled, and some are inlined in their callers. */
  private static final int COMPILING = 10_000;

  private static final long HANG_SECONDS = 150;

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
  static int dive(String name, Runnable call, int calls) throws Exception {
    // The last name that is printed is the call after which the buffers were not usable.
    System.out.println(name);
    for (int i = 0; i < calls; i++) {
      call.run();
    }
    Dive dive = new Dive(call);
    Thread thread = new Thread(null, dive, name, STACK_BYTES);
    thread.start();
    thread.join();
    assertThat(dive.unexpected.get()).as(name).isNull();
    assertThat(dive.successes.get()).as(name).isEqualTo(ENOUGH);
    return dive.overflows.get();
  }

  private void run(String accelerator) throws Exception {
    Calls calls = new Calls(tidepool, accelerator, "simulated:1");
    int overflows = 0;
    for (Map.Entry<String, Runnable> call : calls.all().entrySet()) {
      overflows += dive(call.getKey(), call.getValue(), INITIALIZING);
      calls.use();
    }
    assertThat(overflows).isGreaterThan(1000);
    // A compiled method asks at its entry for the stack of all that is inlined in it.
    for (Map.Entry<String, Runnable> call : calls.all().entrySet()) {
      if (call.getKey().contains("kernel")) {
        assertThat(dive(call.getKey(), call.getValue(), COMPILING)).isPositive();
        calls.use();
      }
    }
    new ShortStackCloses(calls.memory(), () -> simulated.device("simulated:0").livePrograms())
        .run();
    calls.close();
    assertThat(calls.memory().statistics().totalAllocated()).isZero();
  }

  private void close() throws Exception {
    dive("close of a manager", tidepool.memory(tidepool.accelerator("simulated:1"))::close, 0);
    dive("close of the Tidepool", tidepool::close, 0);
    assertThat(simulated.violations()).isEmpty();
    assertThat(simulated.device("simulated:0").liveBlocks()).isZero();
    assertThat(simulated.device("simulated:1").liveBlocks()).isZero();
  }

  private static void reportHang() {
    try {
      TimeUnit.SECONDS.sleep(HANG_SECONDS);
    } catch (InterruptedException e) {
      return;
    }
    Thread.getAllStackTraces()
        .forEach(
            (thread, frames) -> {
              System.out.println(thread);
              for (StackTraceElement frame : frames) {
                System.out.println("    " + frame);
              }
            });
    Runtime.getRuntime().halt(1);
  }

  /** With the id of an accelerator. */
  public static void main(String[] arguments) throws Exception {
    LIBRARY.setLevel(Level.OFF);
    Thread.ofPlatform().daemon().start(ShortStack::reportHang);
    ShortStack test = new ShortStack();
    test.run(arguments[0]);
    test.close();
    System.out.println(DONE);
  }
}
