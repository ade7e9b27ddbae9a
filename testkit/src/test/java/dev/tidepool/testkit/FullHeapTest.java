package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A heap that is full anywhere in a call leaves every buffer usable, and what is closed gets
 * closed.
 */
@ExtendWith(QuietLog.class)
@Timeout(240)
class FullHeapTest {
  /** Calls in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 3;

  @ParameterizedTest
  @ValueSource(strings = {"cpu:0", "simulated:0"})
  void everyCallLeavesTheBuffersUsable(String accelerator) throws Exception {
    FullHeap.run(Scenario.class, String.class, accelerator);
  }

  @Test
  void noDirtyByteIsForgotten() throws Exception {
    Class<?> type = FullHeap.loader().loadClass("dev.tidepool.runtime.storage.DirtyRanges");
    var constructor = type.getDeclaredConstructor(long.class);
    constructor.setAccessible(true);
    Method add = method(type, "add");
    Method remove = method(type, "remove");
    Method intersects = method(type, "intersects");
    boolean failed = true;
    for (int number = 0; failed; number++) {
      Object ranges = constructor.newInstance(100L);
      FullHeap.fillUpAfter(number, false);
      add.invoke(ranges, 10, 20);
      add.invoke(ranges, 40, 60);
      add.invoke(ranges, 80, 90);
      add.invoke(ranges, 15, 45);
      remove.invoke(ranges, 25, 30);
      remove.invoke(ranges, 85, 100);
      failed = FullHeap.clear();
      for (long dirty : new long[] {10, 24, 30, 59, 80, 84}) {
        assertThat(intersects.invoke(ranges, dirty, dirty + 1))
            .as("byte %s with a full heap after %s allocations", dirty, number)
            .isEqualTo(true);
      }
    }
  }

  private static Method method(Class<?> type, String name) throws Exception {
    Method method = type.getDeclaredMethod(name, long.class, long.class);
    method.setAccessible(true);
    return method;
  }

  /** What the test does, with a library whose heap can be full. */
  static final class Scenario implements Callable<Void> {
    private final String accelerator;
    private final ExecutorService threads =
        Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());

    Scenario(String accelerator) {
      this.accelerator = accelerator;
    }

    @Override
    public Void call() throws Exception {
      SimulatedProvider simulated =
          new SimulatedProvider(SimulatedHardware.discrete(), SimulatedHardware.discrete());
      Tidepool tidepool =
          Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()));
      Thread maintenance =
          Thread.ofPlatform().daemon().name("maintenance").start(Scenario::goOnWithTheUnfinished);
      try {
        Calls calls = new Calls(tidepool, accelerator, "simulated:1");
        for (Map.Entry<String, Runnable> call : calls.all().entrySet()) {
          for (int i = 0; i < 3; i++) {
            call.getValue().run();
          }
          failEverywhere(calls, call.getKey(), call.getValue(), false);
          failEverywhere(calls, call.getKey(), call.getValue(), true);
        }
        within("closing the buffers", calls::close);
        within("closing the Tidepool", tidepool::close);
      } finally {
        maintenance.interrupt();
      }
      threads.shutdown();
      return null;
    }

    /** Lets each allocation of a call fail, by itself or with those behind it. */
    private void failEverywhere(Calls calls, String name, Runnable call, boolean stays)
        throws Exception {
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        FullHeap.fillUpAfter(number, stays);
        String where = "'" + name + "' with a full heap after " + number + " allocations";
        boolean failed;
        try {
          within(where, call);
        } catch (OutOfMemoryError | RuntimeException e) {
          assertThat(isFull(e)).as(where).withFailMessage(() -> trace(e)).isTrue();
        } finally {
          failed = FullHeap.clear();
        }
        clean = failed ? 0 : clean + 1;
        within("use after " + where, () -> use(calls));
      }
    }

    private static String trace(Throwable failure) {
      StringWriter text = new StringWriter();
      failure.printStackTrace(new PrintWriter(text));
      return text.toString();
    }

    private static void use(Calls calls) {
      while (true) {
        try {
          calls.use();
          return;
        } catch (OutOfMemoryError | RuntimeException e) {
          // What a prefetch failed with is thrown by the next use, and a thread of the library may
          // only now find the heap full.
          if (!isFull(e)) {
            throw e;
          }
        }
      }
    }

    private static boolean isFull(Throwable failure) {
      for (Throwable e = failure; e != null; e = e.getCause()) {
        if (e instanceof OutOfMemoryError
            || Arrays.stream(e.getSuppressed()).anyMatch(Scenario::isFull)) {
          return true;
        }
      }
      return false;
    }

    private void within(String what, Runnable action) throws Exception {
      Future<?> done = threads.submit(action);
      try {
        done.get(60, TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        throw new AssertionError(what + " hangs:\n" + threadsInTheLibrary(), e);
      } catch (ExecutionException e) {
        switch (e.getCause()) {
          case Error error -> throw error;
          case RuntimeException failure -> throw failure;
          default -> throw new CompletionException(e.getCause());
        }
      }
    }

    private static String threadsInTheLibrary() {
      return Thread.getAllStackTraces().entrySet().stream()
          .filter(
              entry ->
                  Arrays.stream(entry.getValue())
                      .anyMatch(frame -> frame.getClassName().startsWith("dev.tidepool.runtime")))
          .map(
              entry ->
                  entry.getKey()
                      + Arrays.stream(entry.getValue())
                          .map(frame -> "\n  " + frame)
                          .collect(Collectors.joining()))
          .collect(Collectors.joining("\n"));
    }

    /** As the maintenance thread does, but more often. */
    private static void goOnWithTheUnfinished() {
      try {
        Method method =
            Class.forName("dev.tidepool.runtime.threads.Resumable").getDeclaredMethod("resumeAll");
        method.setAccessible(true);
        while (true) {
          method.invoke(null);
          Thread.sleep(1);
        }
      } catch (InterruptedException e) {
        return;
      } catch (ReflectiveOperationException e) {
        throw new AssertionError(e);
      }
    }
  }
}
