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
 * The resources of drivers and the system that one session has opened and not closed: devices,
 * queues, programs, blocks, foreign memory that buffers keep open, and management beans.
 *
 * <p><b>Why it exists.</b> A session may become unreachable without a close, and its managers,
 * pools and buffers with it, but their resources stay open. This object lists them and refers to
 * nothing of the session. The {@code SessionMaintenance} thread references it, detects that the
 * session is unreachable, and closes the rest. Nothing uses the resources then: every handle, every
 * queued operation and every thread that runs one references the session.
 *
 * <p>Thread-safe.
 */
public final class SessionResources {
  /**
   * Classes that {@link #closeForgotten} and its caller use first. They are loaded with this class,
   * because a class loader may be closed before the end of its session is detected.
   */
  @SuppressWarnings("UnusedVariable") // naming the classes loads them
  private static final List<Class<?>> USED_AT_END =
      List.of(Shutdown.class, UnclosedReport.class, Closing.class, FailureLog.class, Tracked.class);

  private final List<Device> devices;
  private final DiagnosticSink reports;
  private final String site;
  private final @Nullable AllocationTrace trace;
  // Elements are compared by identity; closing one removes it.
  private final Set<Tracked> queues = ConcurrentHashMap.newKeySet();
  private final Set<Program> programs = ConcurrentHashMap.newKeySet();
  private final Set<TrackedBlock> blocks = ConcurrentHashMap.newKeySet();
  private final Set<Tracked> foreign = ConcurrentHashMap.newKeySet();
  private final Set<Tracked> beans = ConcurrentHashMap.newKeySet();

  /**
   * Creates the resources of a new session: its devices, and a trace if there is one.
   *
   * @param reports gets a report if the session was not closed
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
   * An open resource. Runs the action that closes it once, or again after a full heap or a short
   * stack. Compared by identity.
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
        // The set may contain this without having counted it.
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
   * Adds queues.
   *
   * @param some a collection that may grow
   * @return the action that closes them all
   */
  Runnable queues(Collection<Queue> some) {
    return new Tracked(queues, () -> Closing.each("a queue", some, Queue::close));
  }

  /** Adds the release of foreign memory. Returns the action that the caller runs instead. */
  public Runnable foreign(Runnable ending) {
    return new Tracked(foreign, ending);
  }

  /**
   * Removes foreign memory, which stays with its owner and will not be released.
   *
   * @param ending the action that {@link #foreign} returned
   */
  public void forget(Runnable ending) {
    foreign.remove(ending);
  }

  /** Adds the registration of a management bean. Returns the action that ends it. */
  public Runnable registered(AutoCloseable bean) {
    return new Tracked(beans, () -> Closing.surviving("the management bean", bean));
  }

  /** Adds a new program, until it is closed. */
  public void opened(Program program) {
    try {
      programs.add(program);
    } catch (Throwable e) {
      // The heap may be full, even if the set contains the program.
      close(program);
      throw e;
    }
  }

  /** Closes a program and removes it, unless the heap was full or the stack too short. */
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

  /** Adds a new block of a driver or the system, until it is freed. */
  public Block opened(Block block) {
    TrackedBlock tracked = null;
    try {
      tracked = new TrackedBlock(this, block);
      blocks.add(tracked);
      return tracked;
    } catch (Throwable e) {
      // The heap may be full, even if the set contains the block.
      if (tracked != null) {
        blocks.remove(tracked);
      }
      block.free();
      throw e;
    }
  }

  /** Removes a block that is about to be freed. */
  public void closed(TrackedBlock block) {
    blocks.remove(block);
  }

  /**
   * Closes all resources, the devices last. Nothing may use them any more. May be called again
   * after a full heap or a short stack.
   */
  public void closeAll() {
    Closing.each("management beans", beans, Tracked::run);
    Closing.each("queues", queues, Tracked::run);
    Closing.each("a program", programs, this::close);
    Closing.each("a block", blocks, Block::free);
    Closing.each("foreign memory", foreign, Tracked::run);
    Closing.each("a device", devices, Device::close);
  }

  /** Closes and reports the resources of a session that became unreachable without a close. */
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
    reports.report(Level.WARNING, report);
  }
}
