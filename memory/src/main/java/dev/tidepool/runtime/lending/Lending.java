package dev.tidepool.runtime.lending;

import dev.tidepool.runtime.order.DeviceLaunch;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.MultiBufferAdmission;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.FailureLog;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Ranges that native code has until it {@link #end}s: one operation in the order of their buffers,
 * which begins when the bytes are where native code wants them, and ends when its commands have.
 * The storages refuse conflicting work meanwhile, because its wait would have no bound.
 */
final class Lending implements DeviceLaunch.Command {
  private final StorageContext context;
  private final List<LentRange> ranges;
  private final List<Lent> storages;
  private final @Nullable NativeQueue foreign;
  private final DeviceLaunch launch;
  private final Operation operation;
  private final boolean usesDevice;
  private final AtomicBoolean ended = new AtomicBoolean();
  private volatile @Nullable NativeQueue queue;
  private volatile @Nullable Runnable ending;

  /**
   * A storage, which knows of one lending however many of its ranges are lent.
   *
   * @param writes whether native code writes any of them
   */
  private record Lent(Storage storage, boolean writes) {}

  /**
   * Creates a lending that has not begun.
   *
   * @param foreign the queue that commands go to, which this closes; null for one of the manager's
   */
  Lending(StorageContext context, List<LentRange> ranges, @Nullable NativeQueue foreign) {
    this.context = context;
    this.ranges = ranges;
    this.foreign = foreign;
    boolean usesHost = false;
    boolean usesBlocks = foreign != null;
    List<ResourceAccess> accesses = new ArrayList<>(ranges.size());
    Map<Storage, Boolean> written = new LinkedHashMap<>();
    for (LentRange range : ranges) {
      written.merge(range.storage(), range.writes(), Boolean::logicalOr);
      usesHost |= range.toHost();
      usesBlocks |= !range.toHost();
      accesses.add(range.access());
    }
    this.storages =
        written.entrySet().stream().map(one -> new Lent(one.getKey(), one.getValue())).toList();
    this.usesDevice = usesBlocks;
    this.launch = DeviceLaunch.lending(context.launchQueues(), foreign, usesHost, this);
    this.operation =
        Operation.of(accesses, context.transferThreads(), this::prepare)
            .retrying(context.retries())
            .launching(launch);
  }

  List<LentRange> ranges() {
    return ranges;
  }

  /** Registers an action for when native code has submitted its commands; at once if it has. */
  void whenEnded(Runnable action) {
    ending = action;
    if (ended.get()) {
      action.run();
    }
  }

  /**
   * Lends all ranges, or none.
   *
   * @throws RuntimeException what that failed with
   */
  void begin() {
    try {
      operation.perform(!Thread.currentThread().isVirtual());
    } catch (Throwable e) {
      if (operation.isLent()) {
        end();
      } else if (ended.compareAndSet(false, true)) {
        if (operation.hasEntered()) {
          tellStorages();
        }
        release();
      }
      throw e;
    }
  }

  /** Brings the bytes of all ranges to where native code wants them. */
  private void prepare() {
    try {
      if (lacksMemory()) {
        MultiBufferAdmission.inTurn(
            operation,
            List.of(context.admission()),
            () -> ranges.stream().filter(LentRange::lacksMemory).forEach(LentRange::provideMemory));
      }
      for (LentRange range : ranges) {
        range.prepare(context.device());
      }
      operation.endAttempts();
      queue = usesDevice ? launch.lend() : null;
      // Only now: if another range could not be lent, no byte must count as overwritten.
      ranges.forEach(LentRange::begin);
    } catch (RuntimeException | Error e) {
      releaseRanges();
      throw Exceptions.transfer(e, "lending");
    }
  }

  private boolean lacksMemory() {
    boolean lacks = false;
    for (LentRange range : ranges) {
      lacks |= range.lacksMemory();
    }
    return lacks;
  }

  /**
   * Returns the queue for commands; null where the device has none, or only pointers of the host.
   */
  @Nullable NativeQueue queue() {
    return queue;
  }

  /** Returns whether native code may still submit commands. */
  boolean isOpen() {
    return !ended.get();
  }

  /**
   * Ends the access of native code. Idempotent. Waits for nothing, and does not throw. Makes no
   * object, because the heap may be full: else the buffers would be lent forever.
   */
  void end() {
    if (!ended.compareAndSet(false, true)) {
      return;
    }
    Event end = null;
    Throwable failure = null;
    NativeQueue commands = usesDevice ? Objects.requireNonNull(queue, "it is lent") : null;
    try {
      if (commands != null) {
        end = commands.mark();
        for (int i = 0; i < ranges.size(); i++) {
          ranges.get(i).submitted();
        }
      }
    } catch (RuntimeException | Error e) {
      failure = e;
      finishQuietly(commands);
    }
    tellStorages();
    // Before the work ends: then the memory behind the handles may be given back.
    releaseRanges();
    operation.lentUntil(end, failure);
    closeForeign();
    Runnable action = ending;
    if (action != null) {
      action.run();
    }
  }

  private static void finishQuietly(@Nullable NativeQueue commands) {
    try {
      if (commands != null) {
        commands.finish();
      }
    } catch (RuntimeException | Error e) {
      FailureLog.warn("the queue of lent buffers could not be waited for", e);
    }
  }

  private void tellStorages() {
    for (int i = 0; i < storages.size(); i++) {
      Lent lent = storages.get(i);
      lent.storage().holds().lendingEnded(lent.writes());
    }
  }

  /** Waits until buffers that were closed meanwhile have brought their results back. */
  void awaitClosed() {
    ranges.forEach(range -> range.storage().lifetime().awaitClosed());
  }

  private void release() {
    releaseRanges();
    closeForeign();
  }

  private void closeForeign() {
    if (foreign != null) {
      Closing.surviving("a foreign queue", foreign);
    }
  }

  private void releaseRanges() {
    for (int i = 0; i < ranges.size(); i++) {
      try {
        ranges.get(i).release();
      } catch (RuntimeException | Error e) {
        FailureLog.warn("a handle of lent memory could not be given back", e);
      }
    }
  }

  @Override
  public boolean isInPlace() {
    return true;
  }

  @Override
  public void settled(@Nullable Throwable failure) {
    // Without a lambda: the heap may be full.
    for (int i = 0; i < ranges.size(); i++) {
      ranges.get(i).settled(failure != null);
    }
  }
}
