package dev.tidepool.runtime.supply;

import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryOptions;
import dev.tidepool.diagnostics.MemoryPressure;
import dev.tidepool.spi.support.FailureLog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Notifies a listener when memory use reaches a watermark. Notifies again only after the level was
 * clearly below the mark, so that a level that oscillates around the mark is reported once.
 *
 * <p>The caller passes the levels of one source in their order. A late, old level would rearm a
 * mark that a newer level has reached. The listener is called on a thread of its own.
 */
public final class PressureMonitor {
  /** The watermark of a device. */
  private static final double DEVICE_MARK = 0.9;

  /** How far below a mark the level must fall to rearm it, as a part of the total. */
  private static final double HYSTERESIS = 0.05;

  private static final class Mark {
    private final double part;
    private boolean armed = true;

    Mark(double part) {
      this.part = part;
    }

    /** Returns whether a level reaches the mark, for the first time since it was clearly below. */
    boolean isReachedBy(long used, long total) {
      boolean above = used >= part * total;
      boolean reached = above && armed;
      if (above) {
        armed = false;
      } else if (used < (part - HYSTERESIS) * total) {
        armed = true;
      }
      return reached;
    }
  }

  private final String accelerator;
  private final List<Mark> ofManager;
  private final List<Mark> ofDevice = List.of(new Mark(DEVICE_MARK));
  private final Consumer<MemoryPressure> listener;
  private final Executor executor;

  private PressureMonitor(
      String accelerator,
      List<Double> watermarks,
      Consumer<MemoryPressure> listener,
      Executor executor) {
    this.accelerator = accelerator;
    this.ofManager = watermarks.stream().map(Mark::new).toList();
    this.listener = listener;
    this.executor = executor;
  }

  /**
   * Returns the monitor for a manager's options, whose marks are parts of its limit; null without a
   * listener.
   *
   * @param executor the executor that calls the listener
   */
  public static @Nullable PressureMonitor of(
      MemoryOptions options, String accelerator, Executor executor) {
    return options
        .pressureListener()
        .map(listener -> new PressureMonitor(accelerator, options.watermarks(), listener, executor))
        .orElse(null);
  }

  /** Returns the marks that the manager's memory reaches now, for {@link #tell}. */
  public List<MemoryPressure> ofManager(long usedBytes, long totalBytes) {
    return reached(MemoryPressure.Source.MANAGER, ofManager, usedBytes, totalBytes);
  }

  /** Returns the marks that the device's used memory reaches now, for {@link #tell}. */
  public List<MemoryPressure> ofDevice(MemoryInfo info) {
    return reached(
        MemoryPressure.Source.DEVICE,
        ofDevice,
        info.totalBytes() - info.freeBytes(),
        info.totalBytes());
  }

  private List<MemoryPressure> reached(
      MemoryPressure.Source source, List<Mark> marks, long used, long total) {
    List<MemoryPressure> reached = List.of();
    for (Mark mark : marks) {
      if (mark.isReachedBy(used, total)) {
        reached = reached.isEmpty() ? new ArrayList<>() : reached;
        reached.add(new MemoryPressure(source, accelerator, mark.part, used, total));
      }
    }
    return reached;
  }

  /** Notifies the listener. Must be called without a lock. */
  public void tell(List<MemoryPressure> reached) {
    reached.forEach(this::tell);
  }

  private void tell(MemoryPressure pressure) {
    executor.execute(
        () -> {
          try {
            listener.accept(pressure);
          } catch (RuntimeException | Error e) {
            FailureLog.warn("the pressure listener failed on ", pressure, "", e);
          }
        });
  }
}
