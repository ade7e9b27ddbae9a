package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Memory lives as long as operations need it, and no longer; threads may close concurrently. */
public abstract class LifetimeConformance extends Topic {
  private static final int LENGTH = 50_000;

  @TestFactory
  Stream<DynamicTest> workThatWasAskedForBeforeTheCloseIsDone() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = memory().allocate(ElementType.FLOAT, LENGTH, location);
          Kernel increment = bench().kernel("y = y + 1");
          float[] out = new float[LENGTH];
          List<CompletableFuture<Void>> work = new ArrayList<>();
          work.add(buffer.copyFromAsync(pattern(LENGTH, 1)));
          for (int i = 0; i < 20; i++) {
            work.add(increment.executeAsync(Arguments.of("y", buffer)));
          }
          work.add(buffer.copyToAsync(out));
          buffer.close();
          work.forEach(CompletableFuture::join);
          float[] model = pattern(LENGTH, 1);
          for (int i = 0; i < LENGTH; i++) {
            model[i] += 20;
          }
          Patterns.assertEqual(out, model, "read before the close");
          eventually("it is freed", () -> memory().statistics().activeBuffers() == 0);
        });
  }

  @Test
  void aCloseWaitsForNothingAndNoBlockHasTwoOwners() {
    for (int round = 0; round < 30; round++) {
      UnifiedBuffer<float[]> old = memory().allocate(ElementType.FLOAT, LENGTH);
      float[] out = new float[LENGTH];
      old.copyFromAsync(pattern(LENGTH, round));
      CompletableFuture<Void> read = old.copyToAsync(out);
      old.close();
      try (UnifiedBuffer<float[]> next = memory().allocate(ElementType.FLOAT, LENGTH)) {
        next.fill((byte) 0);
        read.join();
        Patterns.assertEqual(out, pattern(LENGTH, round), "read from the old owner's block");
        Patterns.assertEqual(contents(next), new float[LENGTH], "the new owner's block");
      }
    }
  }

  @Test
  void kernelsSeeTheBytesOfBuffersThatAreClosedWhileTheNextOnesTakeTheirPlace() {
    Kernel set = bench().kernel("y = a");
    Kernel add = bench().kernel("sum = sum + y");
    UnifiedBuffer<float[]> sum = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    sum.copyFrom(new float[LENGTH]);
    for (int i = 1; i <= 100; i++) {
      try (UnifiedBuffer<float[]> passing = memory().allocate(ElementType.FLOAT, LENGTH)) {
        set.executeAsync(Arguments.of("a", (float) i, "y", passing));
        add.executeAsync(Arguments.of("sum", sum, "y", passing));
      }
    }
    float[] expected = new float[LENGTH];
    Arrays.fill(expected, 5050);
    Patterns.assertEqual(contents(sum), expected, "what passed through closed buffers");
  }

  @Test
  void aManagerThatClosesWaitsForWorkThatRuns() {
    UnifiedMemoryManager manager = bench().manager(bench().accelerator(), MemoryOptions.defaults());
    UnifiedBuffer<float[]> buffer = manager.allocate(ElementType.FLOAT, LENGTH);
    float[] out = new float[LENGTH];
    CompletableFuture<Void> write = buffer.copyFromAsync(pattern(LENGTH, 1));
    CompletableFuture<Void> read = buffer.copyToAsync(out);
    manager.close();
    assertThat(write).isDone();
    assertThat(read).isDone();
    Patterns.assertEqual(out, pattern(LENGTH, 1), "read before the manager closed");
    assertThat(manager.statistics().activeBuffers()).isZero();
  }

  @Test
  void manyThreadsCloseOneBufferAndItIsFreedOnce() {
    for (int round = 0; round < 50; round++) {
      long freed = memory().statistics().totalFreed();
      UnifiedBuffer<float[]> buffer = memory().allocate(ElementType.FLOAT, 1000);
      inThreads(8, _ -> buffer.close());
      eventually("it is freed", () -> memory().statistics().totalFreed() == freed + 1);
    }
    assertThat(memory().statistics().activeBuffers()).isZero();
  }

  @TestFactory
  Stream<DynamicTest> aUseThatRacesACloseIsDoneOrRefused() {
    return inEveryLocation(
        location -> {
          Kernel increment = bench().kernel("y = y + 1");
          for (int round = 0; round < 40; round++) {
            UnifiedBuffer<float[]> buffer = memory().allocate(ElementType.FLOAT, 2000, location);
            buffer.copyFrom(pattern(2000, 1));
            AtomicReference<float @Nullable []> read = new AtomicReference<>();
            inThreads(
                4,
                thread -> {
                  if (thread == 0) {
                    buffer.close();
                    return;
                  }
                  try {
                    switch (thread) {
                      case 1 -> read.set(contents(buffer));
                      case 2 -> buffer.copyFrom(pattern(2000, 2));
                      default -> increment.execute(Arguments.of("y", buffer));
                    }
                  } catch (IllegalStateException refused) {
                    assertThat(refused).hasMessageContaining("closed");
                  }
                });
            float[] seen = read.get();
            assertThat(Stream.of(pattern(2000, 1), added(1), pattern(2000, 2), added(2)))
                .as("what was read before the close is of one moment")
                .anyMatch(whole -> seen == null || Arrays.equals(whole, seen));
          }
          eventually("all are freed", () -> memory().statistics().activeBuffers() == 0);
        });
  }

  private static float[] added(long seed) {
    float[] values = pattern(2000, seed);
    for (int i = 0; i < values.length; i++) {
      values[i] += 1;
    }
    return values;
  }

  @Test
  void manyThreadsWithBuffersOfTheirOwnDisturbNobody() {
    AtomicInteger rounds = new AtomicInteger();
    Kernel twice = bench().kernel("y = y * 2");
    inThreads(
        6,
        thread -> {
          MemoryLocation[] locations = bench().locations().toArray(MemoryLocation[]::new);
          for (int i = 0; i < 60; i++) {
            MemoryLocation location = locations[(thread + i) % locations.length];
            int length = 500 + 321 * ((thread * 7 + i) % 11);
            try (UnifiedBuffer<float[]> buffer =
                memory().allocate(ElementType.FLOAT, length, location)) {
              float[] model = pattern(length, 1000L * thread + i);
              buffer.copyFrom(model);
              twice.execute(Arguments.of("y", buffer));
              for (int j = 0; j < length; j++) {
                model[j] *= 2;
              }
              Patterns.assertEqual(contents(buffer), model, "of thread " + thread);
            }
            rounds.incrementAndGet();
          }
        });
    assertThat(rounds.get()).isEqualTo(360);
    eventually("all are freed", () -> memory().statistics().activeBuffers() == 0);
  }

  @Test
  void virtualThreadsUseBuffersLikeOthers() throws Exception {
    Kernel twice = bench().kernel("y = y * 2");
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 100; t++) {
      int seed = t;
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try (UnifiedBuffer<float[]> buffer =
                        memory().allocate(ElementType.FLOAT, 3000)) {
                      buffer.copyFrom(pattern(3000, seed));
                      twice.execute(Arguments.of("y", buffer));
                      float[] model = pattern(3000, seed);
                      for (int j = 0; j < 3000; j++) {
                        model[j] *= 2;
                      }
                      Patterns.assertEqual(contents(buffer), model, "of a virtual thread");
                    } catch (Throwable e) {
                      failure.compareAndSet(null, e);
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failure.get()).isNull();
  }

  @Test
  void readersOfOneBufferSeeWholeWrites() {
    UnifiedBuffer<byte[]> buffer = buffer(ElementType.BYTE, 20_000, MemoryLocation.DEVICE);
    buffer.fill((byte) 0);
    AtomicBoolean stop = new AtomicBoolean();
    inThreads(
        3,
        thread -> {
          if (thread == 0) {
            for (int i = 1; i <= 200; i++) {
              buffer.fill((byte) i);
            }
            stop.set(true);
            return;
          }
          while (!stop.get()) {
            byte[] seen = contents(buffer);
            for (byte one : seen) {
              if (one != seen[0]) {
                throw new AssertionError("half of a fill: " + one + " beside " + seen[0]);
              }
            }
          }
        });
    assertThat(contents(buffer)[19_999]).isEqualTo((byte) 200);
  }

  @Test
  void anUnreachableBufferIsNoticedAndReclaimed() {
    leak();
    eventually(
        "the leak is noticed",
        () -> {
          System.gc();
          memory().allocate(ElementType.FLOAT, 10).close();
          return memory().statistics().leaks() == 3 && memory().statistics().activeBuffers() == 0;
        });
    assertThat(memory().statistics().totalAllocated()).isZero();
  }

  private void leak() {
    for (int i = 0; i < 3; i++) {
      UnifiedBuffer<float[]> lost = memory().allocate(ElementType.FLOAT, 1000);
      lost.copyFrom(pattern(1000, i));
    }
  }
}
