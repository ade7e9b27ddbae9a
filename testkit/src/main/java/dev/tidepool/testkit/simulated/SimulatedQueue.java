package dev.tidepool.testkit.simulated;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.SpiCall;
import dev.tidepool.testkit.simulated.SimulatedEvent.Completion;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A queue whose own daemon thread runs the commands one after another.
 *
 * <p>The monitor orders submissions and {@link #close}; it is not held while a command runs.
 */
final class SimulatedQueue implements Queue {
  /** The greatest delay with which a sleep may end. */
  private static final long SLEEP_NANOS = 100_000;

  /** How often an idle thread polls for commands before it sleeps. */
  private static final int LOOKS = 100;

  private static final long LOOK_NANOS = 10_000;

  private final SimulatedDevice device;
  private final long handle;
  private final int looks;
  private final DriverLedger ledger;
  private final LinkedBlockingQueue<Command> commands = new LinkedBlockingQueue<>();
  private final Thread thread;
  // The completion of the last command, which closes the queue; null while the queue is open.
  private @Nullable Completion ending;

  /** The work of a command, on the queue's thread. */
  private interface Work {
    void run();
  }

  private record Command(
      String name,
      long bytes,
      List<SimulatedBlock> blocks,
      Work work,
      Completion completion,
      List<Completion> dependsOn,
      DriverLedger.Place place) {}

  private Command command(
      String name, long bytes, List<SimulatedBlock> blocks, Work work, Completion completion) {
    return command(name, bytes, blocks, work, completion, List.of());
  }

  private Command command(
      String name,
      long bytes,
      List<SimulatedBlock> blocks,
      Work work,
      Completion completion,
      List<Completion> dependsOn) {
    DriverLedger.Place place = new DriverLedger.Place(device.hardware().traced());
    return new Command(name, bytes, blocks, work, completion, dependsOn, place);
  }

  SimulatedQueue(SimulatedDevice device, long id) {
    this.device = device;
    handle = id;
    looks = device.hardware().launchCost().isZero() ? 0 : LOOKS;
    ledger = device.ledger();
    thread = Thread.ofPlatform().daemon().name(device + " queue " + id).unstarted(this::run);
    thread.start();
  }

  private void run() {
    while (true) {
      Command command;
      try {
        command = next();
      } catch (InterruptedException e) {
        continue; // Only a close by the library ends a queue.
      }
      if (command.name().isEmpty()) {
        command.completion().end(null);
        return;
      }
      device.passGate();
      AcceleratorException failure = perform(command);
      command.blocks().forEach(SimulatedBlock::end);
      command.completion().end(failure);
    }
  }

  /**
   * Returns the next command. If launches have a cost, this thread polls for commands for a while
   * before it sleeps. Otherwise the submitting thread would have to wake it, which takes a part of
   * that cost, and often more.
   */
  private Command next() throws InterruptedException {
    Command command = commands.poll();
    for (int i = 0; i < looks && command == null; i++) {
      LockSupport.parkNanos(LOOK_NANOS);
      command = commands.poll();
    }
    return command == null ? commands.take() : command;
  }

  private @Nullable AcceleratorException perform(Command command) {
    try {
      delay(command.bytes());
      command.dependsOn().forEach(Completion::join);
      boolean dependencyFailed = command.dependsOn().stream().anyMatch(Completion::hasFailed);
      device.checkRuns(command.name(), dependencyFailed);
      ScopedValue.where(DriverLedger.SUBMITTED, command.place()).run(command.work()::run);
      return null;
    } catch (AcceleratorException e) {
      return e;
    } catch (Throwable e) {
      AcceleratorException failure =
          new AcceleratorException(command.name(), -3, "SIMULATED_COMMAND_FAILED", e.toString());
      failure.initCause(e);
      return failure;
    }
  }

  private void delay(long bytes) {
    long nanos = device.hardware().latency().toNanos();
    if (device.hardware().bytesPerSecond() > 0) {
      nanos += (long) (bytes * 1e9 / device.hardware().bytesPerSecond());
    }
    long jitter = device.hardware().jitter().toNanos();
    nanos += jitter == 0 ? 0 : ThreadLocalRandom.current().nextLong(jitter);
    stayBusyUntil(System.nanoTime() + nanos);
  }

  /** Keeps the calling thread busy; sleeps only as long as the sleep ends in time. */
  private static void stayBusyUntil(long end) {
    for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
      if (left > SLEEP_NANOS) {
        LockSupport.parkNanos(left - SLEEP_NANOS);
      } else {
        Thread.onSpinWait();
      }
    }
  }

  private Event submit(SpiCall call, long bytes, List<SimulatedBlock> blocks, Work work) {
    device.checkAlive(call.name());
    ledger.count(call);
    Completion completion = new Completion();
    enqueue(command(call.name(), bytes, blocks, work, completion));
    return new SimulatedEvent(device, completion);
  }

  private synchronized void enqueue(Command command) {
    if (ending != null) {
      throw device.punished(command.name() + " on a closed queue");
    }
    int begun = 0;
    try {
      for (SimulatedBlock block : command.blocks()) {
        block.begin();
        begun++;
      }
    } catch (AcceleratorException e) {
      command.blocks().subList(0, begun).forEach(SimulatedBlock::end);
      throw e;
    }
    commands.add(command);
  }

  @Override
  public Event write(MemorySegment source, Block destination, long offset) {
    SimulatedBlock target = own(destination, "write");
    long bytes = source.byteSize();
    checkHost(source, "write");
    checkRange("write", target, offset, bytes);
    return submit(
        SpiCall.WRITE,
        bytes,
        List.of(target),
        () -> {
          target.writtenBy("write");
          device.carryUp(
              source, bytes, () -> hostCopy("write", source, 0, target.store(), offset, bytes));
          ledger.wroteToDevice(bytes);
        });
  }

  @Override
  public Event scatter(MemorySegment staged, List<Piece> pieces) {
    if (!scattersAtOnce()) {
      return Queue.super.scatter(staged, pieces);
    }
    List<SimulatedBlock> targets = checked("scatter", staged, pieces);
    long all = pieces.stream().mapToLong(Piece::bytes).sum();
    return submit(
        SpiCall.SCATTER,
        all,
        targets,
        () -> {
          targets.forEach(target -> target.writtenBy("scatter"));
          device.carryUp(staged, all, () -> pieces.forEach(piece -> place(staged, piece)));
          ledger.wroteToDevice(all);
        });
  }

  @Override
  public Event gather(List<Piece> pieces, MemorySegment staged) {
    if (!scattersAtOnce()) {
      return Queue.super.gather(pieces, staged);
    }
    List<SimulatedBlock> sources = checked("gather", staged, pieces);
    if (staged.isReadOnly()) {
      throw device.punished("gather into a read-only segment");
    }
    long all = pieces.stream().mapToLong(Piece::bytes).sum();
    return submit(
        SpiCall.GATHER,
        all,
        sources,
        () -> {
          sources.forEach(source -> source.readBy("gather"));
          device.carryDown(staged, all, () -> pieces.forEach(piece -> fetch(piece, staged)));
          ledger.readFromDevice(all);
        });
  }

  /** Returns the blocks of pieces that lie within their blocks and within the staged bytes. */
  private List<SimulatedBlock> checked(String what, MemorySegment staged, List<Piece> pieces) {
    checkHost(staged, what);
    Set<SimulatedBlock> blocks = new LinkedHashSet<>();
    for (Piece piece : pieces) {
      SimulatedBlock block = own(piece.block(), what);
      checkRange(what, block, piece.offset(), piece.bytes());
      if (piece.from() < 0 || piece.bytes() > staged.byteSize() - piece.from()) {
        throw device.punished(
            what + " of " + piece + " with " + staged.byteSize() + " bytes of the host");
      }
      blocks.add(block);
    }
    return List.copyOf(blocks);
  }

  private void place(MemorySegment staged, Piece piece) {
    SimulatedBlock target = (SimulatedBlock) piece.block();
    hostCopy("scatter", staged, piece.from(), target.store(), piece.offset(), piece.bytes());
  }

  private void fetch(Piece piece, MemorySegment staged) {
    SimulatedBlock source = (SimulatedBlock) piece.block();
    hostCopy("gather", source.store(), piece.offset(), staged, piece.from(), piece.bytes());
  }

  @Override
  public boolean scattersAtOnce() {
    return device.hardware().scatters();
  }

  @Override
  public Event read(Block source, long offset, MemorySegment destination) {
    SimulatedBlock from = own(source, "read");
    long bytes = destination.byteSize();
    checkHost(destination, "read");
    checkRange("read", from, offset, bytes);
    if (destination.isReadOnly()) {
      throw device.punished("read into a read-only segment");
    }
    return submit(
        SpiCall.READ,
        bytes,
        List.of(from),
        () -> {
          from.readBy("read");
          device.carryDown(
              destination,
              bytes,
              () -> hostCopy("read", from.store(), offset, destination, 0, bytes));
          ledger.readFromDevice(bytes);
        });
  }

  @Override
  public Event copy(Block source, long sourceOffset, Block destination, long offset, long bytes) {
    SimulatedBlock target = own(destination, "copy");
    if (!(source instanceof SimulatedBlock from) || !device.copiesFrom(from.device())) {
      throw device.punished("copy from " + source + ", which this device cannot reach");
    }
    checkRange("copy", from, sourceOffset, bytes);
    checkRange("copy", target, offset, bytes);
    if (from == target && Math.max(sourceOffset, offset) < Math.min(sourceOffset, offset) + bytes) {
      throw device.punished(
          "copy of %s bytes from %s to %s overlaps".formatted(bytes, sourceOffset, offset));
    }
    return submit(
        SpiCall.COPY,
        bytes,
        List.of(from, target),
        () -> {
          from.readBy("copy");
          target.writtenBy("copy");
          device.carryAcross(
              from.device(),
              bytes,
              () -> MemorySegment.copy(from.store(), sourceOffset, target.store(), offset, bytes));
          ledger.copiedOnDevice(bytes);
        });
  }

  @Override
  public Event fill(Block block, long offset, long bytes, byte value) {
    SimulatedBlock target = own(block, "fill");
    checkRange("fill", target, offset, bytes);
    return submit(
        SpiCall.FILL,
        bytes,
        List.of(target),
        () -> {
          target.writtenBy("fill");
          target.store().asSlice(offset, bytes).fill(value);
        });
  }

  @Override
  public Event launch(Launch launch) {
    return launch(launch, List.of());
  }

  @Override
  public Event launch(Launch launch, List<Event> dependsOn) {
    long end = System.nanoTime() + device.hardware().launchCost().toNanos();
    if (!(launch.program() instanceof SimulatedProgram program) || !device.owns(program)) {
      throw device.punished("launch of a program that this device has not, or that is closed");
    }
    SimulatedProgram.Bound bound = program.bind(launch);
    List<Completion> completions = dependsOn.stream().map(this::completion).toList();
    device.checkAlive(SpiCall.LAUNCH.name());
    boolean fails = device.nextLaunchFails();
    ledger.count(SpiCall.LAUNCH);
    Completion completion = new Completion();
    enqueue(
        command(
            SpiCall.LAUNCH.name(),
            bound.bytes(),
            bound.blocks(),
            () -> {
              device.carryWithin(bound.bytes(), bound::run);
              if (fails) {
                throw device.launchFailed();
              }
            },
            completion,
            completions));
    SimulatedEvent event = new SimulatedEvent(device, completion);
    // The time of the simulation itself is part of the cost.
    stayBusyUntil(end);
    return event;
  }

  private Completion completion(Event event) {
    if (!(event instanceof SimulatedEvent other) || !device.isPeer(other.device())) {
      throw device.punished("an event of another provider: " + event);
    }
    other.checkOpen();
    return other.completion();
  }

  @Override
  public Event acquire(Block block) {
    SimulatedBlock target = own(block, "acquire");
    return submit(SpiCall.ACQUIRE, 0, List.of(target), target::acquire);
  }

  @Override
  public Event release(Block block) {
    SimulatedBlock target = own(block, "release");
    return submit(SpiCall.RELEASE, 0, List.of(target), target::release);
  }

  @Override
  public void after(Event event) {
    ledger.count(SpiCall.AFTER);
    Completion completion = completion(event);
    enqueue(command("AFTER", 0, List.of(), completion::join, new Completion()));
  }

  @Override
  public long handle() {
    return handle;
  }

  @Override
  public Event mark() {
    return submit(SpiCall.MARK, 0, List.of(), () -> {});
  }

  /** Submits a command of code outside of Tidepool. */
  void submitForeign(Runnable command) {
    enqueue(command("FOREIGN", 0, List.of(), command::run, new Completion()));
  }

  @Override
  public void finish() {
    ledger.count(SpiCall.FINISH);
    device.checkMayBlock("Queue.finish");
    Completion completion = new Completion();
    enqueue(command("FINISH", 0, List.of(), () -> {}, completion));
    completion.join();
  }

  @Override
  public void close() {
    ledger.count(SpiCall.CLOSE_QUEUE);
    Completion last;
    synchronized (this) {
      if (ending == null) {
        ending = new Completion();
        commands.add(command("", 0, List.of(), () -> {}, ending));
      }
      last = ending;
    }
    // Each close waits, because an earlier one may not have been able to.
    if (!Thread.currentThread().equals(thread)) {
      last.join();
    }
    device.closed(this);
  }

  private SimulatedBlock own(Block block, String command) {
    if (block instanceof SimulatedBlock own && own.device() == device) {
      return own;
    }
    throw device.punished(command + " of " + block + ", which is not of this device");
  }

  private void checkHost(MemorySegment segment, String command) {
    if (!segment.isNative()) {
      throw device.punished(command + " of a segment on the heap");
    }
    if (!segment.isAccessibleBy(thread)) {
      throw device.punished(command + " of a segment that belongs to one thread");
    }
  }

  private void checkRange(String command, SimulatedBlock block, long offset, long bytes) {
    try {
      Objects.checkFromIndexSize(offset, bytes, block.byteSize());
    } catch (IndexOutOfBoundsException e) {
      throw device.punished(command + " out of " + block + ": " + e.getMessage());
    }
  }

  private void hostCopy(
      String command, MemorySegment from, long fromOffset, MemorySegment to, long at, long bytes) {
    try {
      MemorySegment.copy(from, fromOffset, to, at, bytes);
    } catch (IllegalStateException e) {
      throw device.punished(command + " of a segment that was closed before it ended: " + e);
    }
  }

  @Override
  public String toString() {
    return thread.getName();
  }
}
