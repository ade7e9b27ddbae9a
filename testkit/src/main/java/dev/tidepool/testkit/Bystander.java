package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.support.Uninterruptibly;
import dev.tidepool.testkit.conformance.Patterns;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * A thread that uses a manager beside a random workload, in ways that the workload does not: it
 * takes snapshots, trims, changes the limit, shares, maps, cancels, and allocates more than fits
 * asynchronously.
 */
final class Bystander implements AutoCloseable {
  private static final int LENGTH = 5000;
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final UnifiedMemoryManager memory;
  private final SplittableRandom random;
  private final Path mapped;
  private final boolean limited;
  private final boolean faulty;
  private final Thread thread;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private volatile boolean done;
  private long acts;

  /**
   * Starts the thread.
   *
   * @param mapped a file with a pattern of bytes
   * @param limited whether the manager has a limit
   * @param faulty whether allocations or calls of the device may fail
   */
  Bystander(
      UnifiedMemoryManager memory,
      SplittableRandom random,
      Path mapped,
      boolean limited,
      boolean faulty) {
    this.memory = memory;
    this.random = random;
    this.mapped = mapped;
    this.limited = limited;
    this.faulty = faulty;
    Thread.Builder kind = random.nextBoolean() ? Thread.ofPlatform().daemon() : Thread.ofVirtual();
    this.thread = kind.name("bystander").unstarted(this::run);
    thread.start();
  }

  /** Returns the file that a bystander maps. */
  static Path file(Path folder) {
    try {
      return Files.write(folder.resolve("mapped"), Patterns.array(ElementType.BYTE, LENGTH, 7));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void run() {
    while (!done && failure.get() == null) {
      try {
        act();
        acts++;
      } catch (TidepoolException e) {
        // Allowed if memory is limited or calls fail; all other assertions hold.
        if (!limited && !faulty) {
          failure.set(e);
        }
      } catch (RuntimeException | Error e) {
        failure.set(e);
      }
    }
  }

  private void act() {
    switch (random.nextInt(9)) {
      case 0 -> assertThat(memory.snapshot().toJson()).startsWith("{\"tidepool-snapshot\":1");
      case 1 -> assertThat(memory.defragment().returnedBytes()).isNotNegative();
      case 2 -> assertThat(memory.trimExcess()).isNotNegative();
      case 3 -> look();
      case 4 -> share();
      case 5 -> changeLimit();
      case 6 -> allocateInTheBackground();
      case 7 -> computeInTheBackground();
      default -> map();
    }
  }

  private void look() {
    assertThat(memory.bytesByTag().values()).allMatch(bytes -> bytes > 0);
    assertThat(memory.buffers()).allMatch(buffer -> buffer.byteSize() >= 0);
    assertThat(memory.pools()).allMatch(pool -> pool.reservedBytes() <= pool.peakReserved());
    assertThat(memory.fragmentation().ratio()).isBetween(0.0, 1.0);
  }

  private void share() {
    int[] written = Patterns.array(ElementType.INT, LENGTH, random.nextInt());
    try (UnifiedBuffer<int[]> made = created("between");
        UnifiedBuffer<int[]> found = memory.openShared(ElementType.INT, "between")) {
      made.copyFrom(written);
      int[] seen = new int[LENGTH];
      found.copyTo(seen);
      assertThat(seen).isEqualTo(written);
    }
  }

  /**
   * Creates a shared buffer with a name whose earlier buffer was closed. Retries, because the
   * memory of the earlier buffer may still be moved to make room.
   */
  private UnifiedBuffer<int[]> created(String name) {
    long patience = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      try {
        return memory.createShared(ElementType.INT, LENGTH, name);
      } catch (TransferException taken) {
        if (System.nanoTime() > patience
            || !String.valueOf(taken.getMessage()).contains("of this process")) {
          throw taken;
        }
        LockSupport.parkNanos(1_000_000);
      }
    }
  }

  private void changeLimit() {
    if (limited) {
      try {
        memory.limit((512L + random.nextInt(4096)) << 10);
      } catch (IllegalArgumentException tooLow) {
        assertThat(tooLow).hasMessageContaining("is below");
      }
    }
  }

  private void allocateInTheBackground() {
    MemoryLocation location = random.nextBoolean() ? MemoryLocation.DEVICE : MemoryLocation.PINNED;
    Allocation allocation = Allocation.at(location).tag("asked for");
    CompletableFuture<UnifiedBuffer<int[]>> asked =
        memory.allocateAsync(ElementType.INT, 1 + random.nextInt(30_000), allocation);
    if (random.nextBoolean()) {
      asked.cancel(false);
    }
    // Failures are caused by a lack of memory.
    asked
        .handle(
            (buffer, _) -> {
              if (buffer != null) {
                buffer.close();
              }
              return true;
            })
        .join();
  }

  private void computeInTheBackground() {
    var add = memory.compile(KernelSource.elementwise("y = y + x"));
    List<UnifiedBuffer<int[]>> buffers = new ArrayList<>();
    List<CompletableFuture<Void>> runs = new ArrayList<>();
    try {
      int count = 2 + random.nextInt(5);
      for (int i = 0; i < count; i++) {
        buffers.add(memory.allocate(ElementType.INT, LENGTH));
        buffers.getLast().fill((byte) 1);
      }
      int rounds = random.nextInt(20);
      for (int i = 0; i < rounds; i++) {
        UnifiedBuffer<int[]> x = buffers.get(0);
        UnifiedBuffer<int[]> y = buffers.get(1 + i % (count - 1));
        runs.add(add.executeAsync(Arguments.of("y", y, "x", x)));
      }
      if (!faulty && random.nextBoolean()) {
        int[] seen = new int[LENGTH];
        buffers.get(1).copyTo(seen);
        int times = 1 + (rounds + count - 2) / (count - 1);
        assertThat(seen).containsOnly(0x01010101 * times);
      }
    } finally {
      buffers.forEach(UnifiedBuffer::close);
      runs.forEach(run -> run.handle((_, _) -> true).join());
    }
  }

  private void map() {
    byte[] seen = new byte[LENGTH];
    try (UnifiedBuffer<byte[]> file = memory.map(mapped, ElementType.BYTE, MapMode.READ)) {
      file.copyTo(seen);
    }
    assertThat(seen).isEqualTo(Patterns.array(ElementType.BYTE, LENGTH, 7));
  }

  /** Stops the thread; returns the number of its actions. */
  long end() {
    close();
    Throwable thrown = failure.get();
    if (thrown != null) {
      throw new AssertionError("the bystander failed: " + thrown, thrown);
    }
    return acts;
  }

  @Override
  public void close() {
    done = true;
    Uninterruptibly.await(thread::join);
  }
}
