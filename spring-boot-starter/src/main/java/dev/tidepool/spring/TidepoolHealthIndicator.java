package dev.tidepool.spring;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * Reports whether the device answers, and whether there is memory for more buffers.
 *
 * <p>A device answers if four bytes can be copied to it and back. The service may keep the device
 * busy for a long time. So the check waits two seconds at most, and a busy device is healthy.
 * Nothing is copied for {@code cpu:0}, the processor that runs the check.
 */
final class TidepoolHealthIndicator extends AbstractHealthIndicator {
  private static final String THIS_PROCESSOR = "cpu:0";
  private static final long MOST_WAIT_SECONDS = 2;
  private static final double DEFAULT_MARK = 0.9;

  /** A disk is full if a smaller fraction of it is free. */
  private static final double DISK_RESERVE = 0.01;

  private final UnifiedMemoryManager memory;
  private final MemoryOptions options;
  private final boolean onThisProcessor;
  // Guarded by this: the running probe, or the last one.
  private CompletableFuture<Void> probe = CompletableFuture.completedFuture(null);

  TidepoolHealthIndicator(UnifiedMemoryManager memory, MemoryOptions options) {
    super("Tidepool's health check failed");
    this.memory = memory;
    this.options = options;
    onThisProcessor = memory.accelerator().id().equals(THIS_PROCESSOR);
  }

  @Override
  protected void doHealthCheck(Health.Builder health) throws InterruptedException {
    health.up().withDetail("accelerator", memory.accelerator().id());
    // The device is probed during the other checks, and reported even if they fail.
    CompletableFuture<Void> answer = onThisProcessor ? ask() : probe();
    try {
      options.spillDirectory().ifPresent(folder -> checkDisk(folder, health));
      checkMemory(health);
    } finally {
      checkDevice(answer, health);
    }
  }

  private static void down(Health.Builder health, String problem) {
    health.down().withDetail("problem", problem);
  }

  private static void checkDevice(CompletableFuture<Void> answer, Health.Builder health)
      throws InterruptedException {
    try {
      answer.get(MOST_WAIT_SECONDS, TimeUnit.SECONDS);
      health.withDetail("device", "answers");
    } catch (TimeoutException e) {
      health.withDetail("device", "is busy");
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      if (cause instanceof OutOfDeviceMemoryException) {
        health.withDetail("device", "has no memory left");
      } else {
        health.withDetail("device", "does not answer");
        down(health, Objects.toString(cause.getMessage(), cause.toString()));
      }
    }
  }

  /** Allocates a buffer, which fails if the manager is closed. An unused buffer takes no memory. */
  private CompletableFuture<Void> ask() {
    memory.allocate(ElementType.INT, 1).close();
    return CompletableFuture.completedFuture(null);
  }

  /** Starts a probe unless one is running, so that probes do not accumulate if the device hangs. */
  private synchronized CompletableFuture<Void> probe() {
    if (probe.isDone()) {
      CompletableFuture<Void> next = new CompletableFuture<>();
      probe = next;
      Thread.ofVirtual()
          .name("tidepool-health")
          .start(
              () -> {
                try {
                  roundTrip();
                  next.complete(null);
                } catch (Throwable e) {
                  next.completeExceptionally(e);
                }
              });
    }
    return probe;
  }

  private void roundTrip() {
    Allocation onDevice = Allocation.at(MemoryLocation.DEVICE).tag("health");
    try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 1, onDevice)) {
      int[] back = new int[1];
      buffer.copyFrom(new int[] {42});
      buffer.copyTo(back);
      if (back[0] != 42) {
        throw new IllegalStateException("the device returned other bytes than it received");
      }
    }
  }

  private static void checkDisk(Path folder, Health.Builder health) {
    try {
      FileStore store = Files.getFileStore(folder);
      checkDisk(folder, store.getUsableSpace(), store.getTotalSpace(), health);
    } catch (IOException e) {
      down(health, "the spill directory " + folder + " cannot be reached: " + e);
    }
  }

  /** Package-private for tests, because they cannot fill a disk. */
  static void checkDisk(Path folder, long freeBytes, long totalBytes, Health.Builder health) {
    health.withDetail("spillFreeBytes", freeBytes);
    if (freeBytes < totalBytes * DISK_RESERVE) {
      down(health, "the disk of the spill directory " + folder + " is full");
    }
  }

  /** Checks the memory in use. Idle memory of pools does not count, and spilling makes room. */
  private void checkMemory(Health.Builder health) {
    MemoryStatistics figures = memory.statistics();
    OptionalLong limit = memory.limit();
    long total;
    long used;
    if (limit.isPresent()) {
      total = limit.getAsLong();
      used = figures.reservedBytes();
    } else {
      MemoryInfo device = memory.accelerator().memory();
      total = device.totalBytes();
      used = total - device.freeBytes();
    }
    used = Math.max(0, used - figures.totalPooled());
    double mark = options.watermarks().stream().max(Double::compare).orElse(DEFAULT_MARK);
    health.withDetail("usedBytes", used).withDetail("totalBytes", total);
    if (used >= mark * total && options.spillDirectory().isEmpty()) {
      down(health, Math.round(100.0 * used / total) + "% of the memory is in use");
    }
  }
}
