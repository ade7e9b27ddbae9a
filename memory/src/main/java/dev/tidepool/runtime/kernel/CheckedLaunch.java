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
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A launch of a program whose items may fail, and say so in a status behind its arguments, as
 * {@link dev.tidepool.spi.Program#reportsFaults} describes it. Commands of the launch's queue clear
 * the status before it and read it after it.
 *
 * <p>As an event this is the end of those commands. It fails with what an item of the launch failed
 * with: an {@link ArrayIndexOutOfBoundsException} or an {@link ArithmeticException}.
 */
final class CheckedLaunch implements Event {
  /** The length of the status. */
  static final int INTS = 4;

  private static final long STATUS_BYTES = (long) INTS * Integer.BYTES;

  /** How launches use the status. */
  static final KernelParameter PARAMETER = KernelParameter.out("fault status", ElementType.INT);

  private final KernelSource.Method source;
  private final Launch launch;
  private final DeviceLink link;
  private final UnaryOperator<RuntimeException> explained;
  // Where the status is read to. Page-locked where possible: to submit a read to other memory, a
  // driver may wait until it is done, and so for the launch.
  private @Nullable Lease staging;
  private @Nullable Event cleared;
  private @Nullable Event read;

  /**
   * Creates a launch that is not submitted yet.
   *
   * @param launch whose last argument is the status
   * @param explained returns what users see of an item's failure
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
   * Submits the commands. When one is refused, those that were submitted have ended, and there is
   * nothing to close.
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
    // The launch's own failure counts more than what was read after it.
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
    return Objects.requireNonNull(
        submitted(staging).block().segment(), "a staging block has a segment");
  }

  private static <T> T submitted(@Nullable T part) {
    if (part == null) {
      throw new IllegalStateException("it was not submitted");
    }
    return part;
  }
}
