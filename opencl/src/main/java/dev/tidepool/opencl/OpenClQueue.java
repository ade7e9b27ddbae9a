package dev.tidepool.opencl;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.EventWait;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * An in-order command queue of one device. Every operation is flushed when it is enqueued. It
 * therefore starts without a thread that waits for it, and other queues can wait for it without a
 * deadlock.
 *
 * <p>OpenCL's enqueuing functions are thread-safe, and so is this class; it holds no lock, except
 * for drivers that need one ({@link SerialCommands}). Closing waits for the commands enqueued
 * before; enqueuing afterwards is reported as an error.
 */
final class OpenClQueue implements Queue {
  private final OpenClDevice device;
  private final Context context;
  private final long queue;
  private final Scatter scatter;
  private final AtomicBoolean closed = new AtomicBoolean();

  OpenClQueue(OpenClDevice device, long queue) {
    this.device = device;
    this.context = device.context();
    this.queue = queue;
    this.scatter = new Scatter(device.scatterKernel(), context);
  }

  @Override
  public Event write(MemorySegment source, Block destination, long offset) {
    OpenClBlock target = own(destination);
    return source.byteSize() == 0
        ? marker()
        : submit(to -> Copies.write(to, source, target, offset));
  }

  @Override
  public void writeNow(MemorySegment source, Block destination, long offset) {
    if (source.byteSize() > 0 && own(destination) instanceof BufferBlock buffer) {
      requireOpen();
      SerialCommands.of(
          device.properties(),
          () -> OpenCL.clEnqueueWriteBufferAndWait(queue, buffer.buffer(), offset, source));
    } else {
      Queue.super.writeNow(source, destination, offset);
    }
  }

  @Override
  public void readNow(Block source, long offset, MemorySegment destination) {
    if (destination.byteSize() > 0 && own(source) instanceof BufferBlock buffer) {
      requireOpen();
      SerialCommands.of(
          device.properties(),
          () -> OpenCL.clEnqueueReadBufferAndWait(queue, buffer.buffer(), offset, destination));
    } else {
      Queue.super.readNow(source, offset, destination);
    }
  }

  @Override
  public Event scatter(MemorySegment staged, List<Piece> pieces) {
    pieces.forEach(piece -> own(piece.block()));
    if (!scatter.reaches(pieces)) {
      return Queue.super.scatter(staged, pieces);
    }
    boolean nothing = pieces.stream().allMatch(piece -> piece.bytes() == 0);
    return nothing ? marker() : submitKernel(to -> scatter.scatter(to, staged, pieces));
  }

  @Override
  public Event gather(List<Piece> pieces, MemorySegment staged) {
    pieces.forEach(piece -> own(piece.block()));
    if (!scatter.reaches(pieces)) {
      return Queue.super.gather(pieces, staged);
    }
    boolean nothing = pieces.stream().allMatch(piece -> piece.bytes() == 0);
    return nothing ? marker() : submitKernel(to -> scatter.gather(to, pieces, staged));
  }

  @Override
  public boolean scattersAtOnce() {
    return true;
  }

  @Override
  public Event read(Block source, long offset, MemorySegment destination) {
    OpenClBlock from = own(source);
    return destination.byteSize() == 0
        ? marker()
        : submit(to -> Copies.read(to, from, offset, destination));
  }

  @Override
  public Event copy(Block source, long sourceOffset, Block destination, long offset, long bytes) {
    OpenClBlock from = own(source);
    OpenClBlock target = own(destination);
    return bytes == 0
        ? marker()
        : submit(to -> Copies.copy(to, from, sourceOffset, target, offset, bytes));
  }

  @Override
  public Event fill(Block block, long offset, long bytes, byte value) {
    OpenClBlock target = own(block);
    return bytes == 0 ? marker() : submit(to -> Copies.fill(to, target, offset, bytes, value));
  }

  @Override
  public Event launch(Launch launch) {
    return launch(launch, List.of());
  }

  @Override
  public Event launch(Launch launch, List<Event> dependsOn) {
    if (!(launch.program() instanceof OpenClProgram program) || !program.runsOn(device)) {
      throw new IllegalArgumentException(
          "a program that was not compiled for " + device.info().id() + " cannot run there");
    }
    if (launch.range().items() == 0) {
      return marker();
    }
    if (device.properties().runsKernelsAlone()) {
      dependsOn.forEach(this::after);
      return submitAlone(to -> program.enqueue(to, launch));
    }
    long[] waits = new long[dependsOn.size()];
    int retained = 0;
    try {
      for (Event event : dependsOn) {
        waits[retained] = retained(event);
        retained++;
      }
      return enqueue(to -> program.enqueue(to, launch), waits);
    } finally {
      for (int i = 0; i < retained; i++) {
        long wait = waits[i];
        // The launch may be running, and its event must reach the caller.
        Closing.surviving("clReleaseEvent", () -> OpenCL.clReleaseEvent(wait));
      }
    }
  }

  private long retained(Event event) {
    if (event instanceof OpenClEvent own && own.context() == context) {
      return own.retained();
    }
    throw new IllegalArgumentException(
        "a launch on " + device.info().id() + " cannot depend on an event of another context");
  }

  @Override
  public Event acquire(Block block) {
    OpenClBlock mapped = own(block);
    return mapped.hostAccess() == HostAccess.DIRECT
        ? marker()
        : submitOrUndo(() -> map(mapped), () -> unmap(mapped));
  }

  @Override
  public Event release(Block block) {
    OpenClBlock mapped = own(block);
    return mapped.hostAccess() == HostAccess.DIRECT
        ? marker()
        : submitOrUndo(() -> unmap(mapped), () -> map(mapped));
  }

  /** Submits a command. If this throws, the command was not enqueued, or it was undone. */
  private Event submitOrUndo(LongSupplier command, LongSupplier undo) {
    AtomicBoolean enqueued = new AtomicBoolean();
    try {
      return submit(
          to -> {
            to.add(command.getAsLong());
            enqueued.set(true);
          });
    } catch (RuntimeException | Error refused) {
      if (enqueued.get()) {
        Closing.surviving(
            "the undoing of a command",
            () -> {
              try (Event undone = submit(to -> to.add(undo.getAsLong()))) {
                EventWait.untilEnded(undone);
              }
            });
      }
      throw refused;
    }
  }

  private long map(OpenClBlock block) {
    return switch (block) {
      case BufferBlock buffer when buffer.hostAccess() == HostAccess.MAPPED -> buffer.map(queue);
      case SharedPointerBlock pointer ->
          pointer
              .svm()
              .clEnqueueSVMMap(
                  queue,
                  OpenCL.CL_MAP_READ | OpenCL.CL_MAP_WRITE,
                  pointer.bytes(0, pointer.byteSize()));
      default -> throw unmappable(block);
    };
  }

  private long unmap(OpenClBlock block) {
    return switch (block) {
      case BufferBlock buffer when buffer.hostAccess() == HostAccess.MAPPED -> buffer.unmap(queue);
      case SharedPointerBlock pointer ->
          pointer.svm().clEnqueueSVMUnmap(queue, pointer.bytes(0, pointer.byteSize()));
      default -> throw unmappable(block);
    };
  }

  private static IllegalArgumentException unmappable(OpenClBlock block) {
    return new IllegalArgumentException(
        "the host reaches a block of " + block.byteSize() + " bytes by copies only");
  }

  @Override
  public void after(Event event) {
    requireOpen();
    CommandOrder.after(device, queue, event);
  }

  @Override
  public long handle() {
    return queue;
  }

  @Override
  public Event mark() {
    requireOpen();
    return CommandOrder.mark(device, queue);
  }

  private Event marker() {
    return submit(to -> to.add(OpenCL.clEnqueueMarkerWithWaitList(queue)));
  }

  private OpenClEvent submit(Consumer<Submission> commands) {
    return device.properties().runsCommandsAlone() ? submitAlone(commands) : enqueue(commands);
  }

  /**
   * Submits a kernel. PoCL keeps loaded kernels in a table that two kernels can corrupt if they end
   * at once; PoCL then ends the process (seen with 3.1). Its kernels therefore run one after
   * another. Each of them keeps all processors busy anyway.
   */
  private Event submitKernel(Consumer<Submission> commands) {
    return device.properties().runsKernelsAlone() ? submitAlone(commands) : enqueue(commands);
  }

  private OpenClEvent submitAlone(Consumer<Submission> commands) {
    return SerialCommands.alone(
        () -> {
          OpenClEvent event = enqueue(commands);
          try {
            EventWait.untilEnded(event);
          } catch (RuntimeException failed) {
            // Waiting for the event throws the failure again.
          }
          return event;
        });
  }

  private OpenClEvent enqueue(Consumer<Submission> commands, long... waits) {
    requireOpen();
    try (Submission submission = new Submission(context, queue, waits)) {
      commands.accept(submission);
      return submission.end();
    }
  }

  private OpenClBlock own(Block block) {
    if (block instanceof OpenClBlock opencl && opencl.context() == context) {
      opencl.requireLive();
      return opencl;
    }
    throw new IllegalArgumentException(
        "a block of another backend or context is not reached by " + device.info().id());
  }

  @Override
  public void finish() {
    requireOpen();
    clFinish();
  }

  private void clFinish() {
    SerialCommands.of(device.properties(), () -> OpenCL.clFinish(queue));
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true) || Shutdown.hasBegun()) {
      return;
    }
    Closing.surviving("clFinish", this::clFinish);
    Closing.surviving("clReleaseMemObject", scatter);
    Closing.surviving("clReleaseCommandQueue", () -> OpenCL.clReleaseCommandQueue(queue));
  }

  private void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException("a queue of " + device.info().id() + " is used after close");
    }
  }
}
