package dev.tidepool.runtime.supply;

import dev.tidepool.diagnostics.UnclosedReport;
import dev.tidepool.runtime.metering.AllocationTrace;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.FailureLog;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What one session has opened of drivers and the system and not closed yet: devices, queues,
 * programs, blocks, foreign memory that buffers hold open, and management beans.
 *
 * <p><b>Why it exists.</b> A session that becomes unreachable without being closed takes its
 * managers, pools and buffers with it, but not what they have opened. This object remembers that
 * and refers to nothing of the session. The {@code SessionMaintenance} thread keeps it, notices
 * that the session is gone, and closes what is left. Nothing uses it then: every handle, every
 * queued operation and every thread that runs one reaches the session.
 *
 * <p>Thread-safe.
 */
public final class SessionResources {
  /**
   * The classes that {@link #closeForgotten} and its caller use first. They are loaded with this
   * class, because a class loader may be closed before the end of its session is noticed.
   */
  @SuppressWarnings("UnusedVariable") // to name the classes is enough
  private static final List<Class<?>> USED_AT_END =
      List.of(Shutdown.class, UnclosedReport.class, Closing.class, FailureLog.class, Tracked.class);

  private final List<Device> devices;
  private final DiagnosticSink reports;
  private final String site;
  private final @Nullable AllocationTrace trace;
  // By identity: closing one removes it.
  private final Set<Tracked> queues = ConcurrentHashMap.newKeySet();
  private final Set<Program> programs = ConcurrentHashMap.newKeySet();
  private final Set<TrackedBlock> blocks = ConcurrentHashMap.newKeySet();
  private final Set<Tracked> foreign = ConcurrentHashMap.newKeySet();
  private final Set<Tracked> beans = ConcurrentHashMap.newKeySet();

  /**
   * Nothing but devices, and perhaps a trace.
   *
   * @param reports are told if the session is forgotten
   * @param site the stack that opened the session
   */
  public SessionResources(
      List<Device> devices, DiagnosticSink reports, String site, @Nullable AllocationTrace trace) {
    this.devices = List.copyOf(devices);
    this.reports = reports;
    this.site = site;
    this.trace = trace;
  }

  /**
   * Something open, and what ends it, once; again if the heap was full or the stack too short.
   * Compared by identity.
   */
  private static final class Tracked implements Runnable {
    private final Set<Tracked> open;
    private final Runnable ending;
    private final AtomicBoolean begun = new AtomicBoolean();

    Tracked(Set<Tracked> open, Runnable ending) {
      this.open = open;
      this.ending = ending;
      try {
        open.add(this);
      } catch (OutOfMemoryError e) {
        // The set may have this, and no room to count it.
        open.remove(this);
        throw e;
      }
    }

    @Override
    public void run() {
      if (!begun.compareAndSet(false, true)) {
        return;
      }
      boolean again = false;
      try {
        ending.run();
      } catch (VirtualMachineError e) {
        again = true;
        throw e;
      } finally {
        begun.set(!again);
        if (!again) {
          open.remove(this);
        }
      }
    }
  }

  /**
   * Remembers queues.
   *
   * @param some to which more may come
   * @return what closes them all
   */
  Runnable queues(Collection<Queue> some) {
    return new Tracked(queues, () -> Closing.each("a queue", some, Queue::close));
  }

  /** Remembers what holds foreign memory open. Returns the action that the caller runs instead. */
  public Runnable foreign(Runnable ending) {
    return new Tracked(foreign, ending);
  }

  /**
   * Forgets foreign memory, which stays its owner's: what holds it open does not run any more.
   *
   * @param ending what {@link #foreign} returned
   */
  public void forget(Runnable ending) {
    if (ending instanceof Tracked tracked) {
      foreign.remove(tracked);
    }
  }

  /** Remembers the registration of a management bean. Returns the action that ends it. */
  public Runnable registered(AutoCloseable bean) {
    return new Tracked(beans, () -> Closing.surviving("the management bean", bean));
  }

  /** Remembers a program that was just compiled, until it is closed. */
  public void opened(Program program) {
    try {
      programs.add(program);
    } catch (Throwable e) {
      // The heap may be full, and the set may have the program all the same.
      close(program);
      throw e;
    }
  }

  /** Closes a program, and forgets it, unless the heap was full or the stack too short. */
  public void close(Program program) {
    boolean again = false;
    try {
      program.close();
    } catch (VirtualMachineError e) {
      again = true;
      throw e;
    } finally {
      if (!again) {
        programs.remove(program);
      }
    }
  }

  /** Remembers a block that a driver or the system has just given, until it is freed. */
  public Block opened(Block block) {
    TrackedBlock tracked = null;
    try {
      tracked = new TrackedBlock(this, block);
      blocks.add(tracked);
      return tracked;
    } catch (Throwable e) {
      // The heap may be full, and the set may have the block all the same.
      if (tracked != null) {
        blocks.remove(tracked);
      }
      block.free();
      throw e;
    }
  }

  /** Forgets a block, which is about to be freed. */
  public void closed(TrackedBlock block) {
    blocks.remove(block);
  }

  /**
   * Closes everything, the devices last. Nothing may use it any more. Where a full heap or a short
   * stack stops it, it may be called again.
   */
  public void closeAll() {
    Closing.each("management beans", beans, Tracked::run);
    Closing.each("queues", queues, Tracked::run);
    Closing.each("a program", programs, this::close);
    Closing.each("a block", blocks, Block::free);
    Closing.each("foreign memory", foreign, Tracked::run);
    Closing.each("a device", devices, Device::close);
  }

  /** Closes what a session left that is unreachable and was not closed, and reports it. */
  public void closeForgotten() {
    if (Shutdown.hasBegun()) {
      return;
    }
    UnclosedReport report =
        new UnclosedReport(
            devices.stream().map(device -> device.info().id()).collect(Collectors.joining(", ")),
            blocks.size(),
            blocks.stream().mapToLong(Block::byteSize).sum(),
            site);
    closeAll();
    if (trace != null) {
      trace.close();
    }
    reports.log(Level.WARNING, report.toString());
    reports.tell(report);
  }
}
