package dev.tidepool.runtime.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.tree.Faults;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A launch of a program whose items may fail and report that in a status behind the arguments; see
 * {@link dev.tidepool.spi.Program#reportsFaults}. Commands on the launch's queue clear the status
 * before the launch and read it afterwards.
 *
 * <p>As an event, this is the end of those commands. It fails with the exception of an item of the
 * launch: an {@link ArrayIndexOutOfBoundsException} or an {@link ArithmeticException}.
 */
final class CheckedLaunch implements Event {
  /** The number of ints in the status. */
  static final int INTS = 4;

  private static final long STATUS_BYTES = (long) INTS * Integer.BYTES;

  /** The status as a parameter of the launch. */
  static final KernelParameter PARAMETER = KernelParameter.out("fault status", ElementType.INT);

  private final KernelSource.Method source;
  private final Launch launch;
  private final DeviceLink link;
  private final UnaryOperator<RuntimeException> explained;
  // Receives the status. Page-locked if possible: with other memory, a driver may block the
  // submission of a read until the read is done, and so until the launch is done.
  private @Nullable Lease staging;
  private @Nullable Event cleared;
  private @Nullable Event read;

  /**
   * Creates a launch that is not submitted yet.
   *
   * @param launch whose last argument is the status
   * @param explained returns the failure of an item as users see it
   */
  CheckedLaunch(
      KernelSource.Method source,
      Launch launch,
      DeviceLink link,
      UnaryOperator<RuntimeException> explained) {
    this.source = source;
    this.launch = launch;
    this.link = link;
    this.explained = explained;
  }

  /**
   * Submits the commands. If one is refused, this waits for the ends of those that were submitted,
   * and there is nothing to close.
   *
   * @return the end of the launch alone
   */
  Event submit(Queue queue, List<Event> dependsOn) {
    Lease lease = link.lease(STATUS_BYTES);
    try {
      staging = lease;
      return submitAll(queue, dependsOn);
    } catch (RuntimeException | Error refused) {
      lease.release();
      throw refused;
    }
  }

  private Event submitAll(Queue queue, List<Event> dependsOn) {
    KernelArgument.Array status = (KernelArgument.Array) launch.arguments().getLast();
    Event clearing = queue.fill(status.block(), status.offset(), status.bytes(), (byte) 0);
    cleared = clearing;
    Event launched = null;
    try {
      launched = dependsOn.isEmpty() ? queue.launch(launch) : queue.launch(launch, dependsOn);
      read = queue.read(status.block(), status.offset(), found().asSlice(0, STATUS_BYTES));
      return launched;
    } catch (RuntimeException | Error refused) {
      try {
        if (launched != null) {
          DeviceLink.finish(launched);
        }
      } finally {
        DeviceLink.finish(clearing);
      }
      throw refused;
    }
  }

  /** Submits the commands and waits for their ends. */
  void perform(Queue queue) {
    Event launched = submit(queue, List.of());
    // The launch's own failure takes precedence over the status that was read after it.
    try {
      DeviceLink.finish(this);
    } finally {
      DeviceLink.finish(launched);
    }
  }

  @Override
  public boolean isDone() {
    return submitted(cleared).isDone() && submitted(read).isDone();
  }

  @Override
  public void await() {
    try {
      submitted(cleared).await();
    } finally {
      submitted(read).await();
    }
    MemorySegment found = found();
    int place = found.getAtIndex(JAVA_INT, 0);
    if (place != 0) {
      KernelTree tree = MethodReader.read(source);
      Site site = tree.sites().get(place - 1);
      throw explained.apply(Faults.of(site, found.getAtIndex(JAVA_INT, 1), length(site, tree)));
    }
  }

  private int length(Site site, KernelTree tree) {
    if (site.parameter() < 0) {
      return site.length();
    }
    KernelArgument.Array array = (KernelArgument.Array) launch.arguments().get(site.parameter());
    return (int) (array.bytes() / tree.parameters().get(site.parameter()).kind().bytes());
  }

  @Override
  public void close() {
    try {
      submitted(cleared).close();
    } finally {
      try {
        submitted(read).close();
      } finally {
        submitted(staging).release();
      }
    }
  }

  private MemorySegment found() {
    return submitted(staging).segment();
  }

  private static <T> T submitted(@Nullable T part) {
    if (part == null) {
      throw new IllegalStateException("it was not submitted");
    }
    return part;
  }
}
