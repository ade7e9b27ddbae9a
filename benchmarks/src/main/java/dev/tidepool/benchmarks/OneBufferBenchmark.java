package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Several threads write or read one buffer of 1 KiB at the same time. A figure is the time from the
 * first copy to the last, divided by the copies of all threads; with one thread it is the time of a
 * copy. It includes the start of the threads: less than 1 ns for 64 virtual threads, and 5 ns for
 * 64 platform threads. The naive alternative is the bare copy under a lock.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
@OperationsPerInvocation(OneBufferBenchmark.COPIES)
public class OneBufferBenchmark {
  static final int COPIES = 1 << 20;

  private static final int BYTES = 1024;

  /** The number of threads. */
  @Param({"1", "2", "8", "64"})
  public int threads;

  /** Whether the threads are virtual. */
  @Param({"false", "true"})
  public boolean virtual;

  private final ReentrantLock lock = new ReentrantLock();
  private Tidepool tidepool;
  private UnifiedBuffer<byte[]> buffer;
  private MemorySegment segment;

  /** Allocates the buffer. */
  @Setup
  public void open() {
    tidepool = Tidepool.open();
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    buffer = memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.HOST);
    segment = memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.HOST).asSegment();
  }

  /** Closes the session. */
  @TearDown
  public void close() {
    tidepool.close();
  }

  private void run(Consumer<byte[]> copy) throws InterruptedException {
    Thread.Builder builder = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
    List<Thread> started = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      started.add(
          builder.start(
              () -> {
                byte[] array = new byte[BYTES];
                for (int i = 0; i < COPIES / threads; i++) {
                  copy.accept(array);
                }
              }));
    }
    for (Thread thread : started) {
      thread.join();
    }
  }

  /** Writes the buffer. */
  @Benchmark
  @ComparedWith("writeLocked")
  public void write() throws InterruptedException {
    run(array -> buffer.copyFrom(array));
  }

  /** Reads the buffer. */
  @Benchmark
  @ComparedWith("readLocked")
  public void read() throws InterruptedException {
    run(array -> buffer.copyTo(array));
  }

  /** Writes naively. */
  @Benchmark
  public void writeLocked() throws InterruptedException {
    run(
        array -> {
          lock.lock();
          try {
            MemorySegment.copy(array, 0, segment, ValueLayout.JAVA_BYTE, 0, BYTES);
          } finally {
            lock.unlock();
          }
        });
  }

  /** Reads naively. */
  @Benchmark
  public void readLocked() throws InterruptedException {
    run(
        array -> {
          lock.lock();
          try {
            MemorySegment.copy(segment, ValueLayout.JAVA_BYTE, 0, array, 0, BYTES);
          } finally {
            lock.unlock();
          }
        });
  }
}
