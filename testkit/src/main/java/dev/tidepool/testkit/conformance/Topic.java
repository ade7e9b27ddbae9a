package dev.tidepool.testkit.conformance;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;

/** One topic of the suite. */
public abstract class Topic {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** Returns the bench of the running test. */
  protected abstract Bench bench();

  final UnifiedMemoryManager memory() {
    return bench().memory();
  }

  final <A> UnifiedBuffer<A> buffer(ElementType<A> type, long length, MemoryLocation location) {
    return bench().buffer(type, length, location);
  }

  /** Returns a float buffer with the pattern of a seed. */
  final UnifiedBuffer<float[]> patterned(int length, MemoryLocation location, long seed) {
    return bench().patterned(ElementType.FLOAT, length, location, seed);
  }

  static float[] pattern(int length, long seed) {
    return Patterns.array(ElementType.FLOAT, length, seed);
  }

  /** Returns all elements of a buffer. */
  static <A> A contents(UnifiedBuffer<A> buffer) {
    A array = buffer.elementType().newArray(Math.toIntExact(buffer.length()));
    buffer.copyTo(array);
    return array;
  }

  /** Returns all elements of a segment. */
  static <A> A contents(ElementType<A> type, MemorySegment segment) {
    int length = Math.toIntExact(segment.byteSize() / type.byteSize());
    A array = type.newArray(length);
    type.read(segment, 0, array, 0, length);
    return array;
  }

  /** Returns one test for each location that the accelerator supports. */
  final Stream<DynamicTest> inEveryLocation(LocationTest test) {
    return bench().locations().stream()
        .map(location -> DynamicTest.dynamicTest(location.name(), () -> test.run(location)));
  }

  /** A test of one location. */
  interface LocationTest {
    void run(MemoryLocation location) throws Throwable;
  }

  /** Waits for a condition that other threads bring about; fails after a timeout. */
  static void eventually(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("it did not come to be within " + PATIENCE + " that " + what);
      }
      java.util.concurrent.locks.LockSupport.parkNanos(200_000);
    }
  }

  /** Runs a task on a new platform thread. */
  static void inThread(Runnable task) {
    Thread.ofPlatform().daemon().start(task);
  }

  /** The body of one of several threads. */
  interface Body {
    void run(int thread) throws Exception;
  }

  /** Runs a body on several threads that start together; throws the first failure. */
  static void inThreads(int count, Body body) {
    CyclicBarrier start = new CyclicBarrier(count);
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      int thread = t;
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      start.await();
                      body.run(thread);
                    } catch (Throwable e) {
                      failure.compareAndSet(null, e);
                    }
                  }));
    }
    try {
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
    if (failure.get() != null) {
      throw new AssertionError("a thread failed: " + failure.get(), failure.get());
    }
  }
}
