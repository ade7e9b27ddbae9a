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
 * Ranges that are lent to native code until {@link #end}: one operation in the queues of their
 * buffers. It begins when the bytes are in the memory that native code uses, and ends with the
 * commands of native code. Meanwhile the storages reject conflicting operations, because their wait
 * would be unbounded.
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
   * A storage, which counts one lending for all of its ranges.
   *
   * @param writes whether native code writes one of its ranges
   */
  private record Lent(Storage storage, boolean writes) {}

  /**
   * Creates a lending that has not begun.
   *
   * @param foreign the queue for commands, which this closes; null for one of the manager's
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

  /** Sets the action to run when this has ended; runs it at once if it has. */
  void whenEnded(Runnable action) {
    ending = action;
    if (ended.get()) {
      action.run();
    }
  }

  /**
   * Lends all ranges, or none.
   *
   * @throws RuntimeException the failure
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

  /** Brings the bytes of all ranges to the memory that native code uses. */
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
      // Last: if a range could not be lent, no byte must be marked as overwritten.
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

  /** Returns the queue for commands; null if the device has none, or only host memory is lent. */
  @Nullable NativeQueue queue() {
    return queue;
  }

  /** Returns whether native code may still submit commands. */
  boolean isOpen() {
    return !ended.get();
  }

  /**
   * Ends the access of native code. Idempotent. Does not throw, and does not wait unless the queue
   * fails. Creates no object: if the heap is full, the buffers must not stay lent.
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
    // Before the operation ends, because the memory of the handles may be released then.
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

  /** Waits for the write-back of buffers that were closed meanwhile. */
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
    // No lambda, because the heap may be full.
    for (int i = 0; i < ranges.size(); i++) {
      ranges.get(i).settled(failure != null);
    }
  }
}
