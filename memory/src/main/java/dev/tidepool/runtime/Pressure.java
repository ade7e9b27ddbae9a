package dev.tidepool.runtime;

import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryPressure;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Tells a listener when memory reaches a watermark: once, until it has fallen clearly below, so
 * that a level that trembles around the mark is told once.
 *
 * <p>May be told of levels by any thread, and in another order than they were reached: each mark is
 * one flag that is taken down by who tells of it. The listener is called on a thread of its own,
 * never under a lock.
 */
final class Pressure {
  /** A device is nearly full. */
  private static final double DEVICE_MARK = 0.9;

  /** How far below a mark, as a part of the total, the level must fall to be told again. */
  private static final double HYSTERESIS = 0.05;

  private record Mark(double part, AtomicBoolean armed) {
    Mark(double part) {
      this(part, new AtomicBoolean(true));
    }
  }

  private final String accelerator;
  private final List<Mark> ofManager;
  private final List<Mark> ofDevice = List.of(new Mark(DEVICE_MARK));
  private final Consumer<MemoryPressure> listener;
  private final Executor executor;

  private Pressure(
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
   * The marks of a manager's options, which are parts of what it may hold; null if nobody listens.
   *
   * @param executor calls the listener
   */
  static @Nullable Pressure of(MemoryOptions options, String accelerator, Executor executor) {
    return options
        .pressureListener()
        .map(listener -> new Pressure(accelerator, options.watermarks(), listener, executor))
        .orElse(null);
  }

  /** The manager holds so many bytes. */
  void ofManager(long usedBytes, long totalBytes) {
    observe(MemoryPressure.Source.MANAGER, ofManager, usedBytes, totalBytes);
  }

  /** So much of the device is in use. */
  void ofDevice(MemoryInfo info) {
    observe(
        MemoryPressure.Source.DEVICE,
        ofDevice,
        info.totalBytes() - info.freeBytes(),
        info.totalBytes());
  }

  private void observe(MemoryPressure.Source source, List<Mark> marks, long used, long total) {
    for (Mark mark : marks) {
      if (used >= mark.part() * total) {
        if (mark.armed().compareAndSet(true, false)) {
          tell(new MemoryPressure(source, accelerator, mark.part(), used, total));
        }
      } else if (used < (mark.part() - HYSTERESIS) * total) {
        mark.armed().set(true);
      }
    }
  }

  private void tell(MemoryPressure pressure) {
    executor.execute(
        () -> {
          try {
            listener.accept(pressure);
          } catch (RuntimeException | Error e) {
            System.getLogger("dev.tidepool")
                .log(Level.WARNING, "the pressure listener failed on " + pressure, e);
          }
        });
  }
}
