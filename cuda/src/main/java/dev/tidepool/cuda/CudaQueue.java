package dev.tidepool.cuda;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Event;
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
import org.jspecify.annotations.Nullable;

/**
 * A stream of one device. The driver's functions are thread-safe, and so is this class; it holds no
 * lock. Closing waits for the commands submitted before; submitting afterwards is reported as an
 * error.
 */
final class CudaQueue implements Queue {
  private final CudaDevice device;
  private final Context context;
  private final EventPool events;
  private final long stream;
  private final boolean ownsStream;
  private final AtomicBoolean closed = new AtomicBoolean();

  /**
   * Creates a queue over a stream.
   *
   * @param ownsStream whether closing the queue destroys the stream
   */
  CudaQueue(CudaDevice device, long stream, boolean ownsStream) {
    this.device = device;
    this.context = device.context();
    this.events = device.events();
    this.stream = stream;
    this.ownsStream = ownsStream;
  }

  @Override
  public Event write(MemorySegment source, Block destination, long offset) {
    long to = address(destination) + offset;
    return source.byteSize() == 0
        ? marker()
        : submit("cuMemcpyHtoDAsync_v2", () -> Cuda.cuMemcpyHtoDAsync(to, source, stream));
  }

  /** Records one event for all pieces: most of the cost of a small copy is its event. */
  @Override
  public Event scatter(MemorySegment staged, List<Piece> pieces) {
    return copyPieces(staged, pieces, true);
  }

  /** Like {@link #scatter}, records one event for all pieces. */
  @Override
  public Event gather(List<Piece> pieces, MemorySegment staged) {
    return copyPieces(staged, pieces, false);
  }

  private Event copyPieces(MemorySegment staged, List<Piece> pieces, boolean toDevice) {
    pieces.forEach(piece -> own(piece.block()));
    ScatterKernel kernel = device.scatterKernel();
    if (kernel.reaches(staged, pieces)) {
      return submit(
          "cuLaunchKernel",
          submission -> kernel.submit(submission, staged, pieces, toDevice, stream));
    }
    StagedCopies copies = device.stagedCopies();
    return submit(
        copies.command(staged, pieces.size(), toDevice),
        submission -> copies.submit(submission, staged, pieces, toDevice, stream));
  }

  @Override
  public boolean scattersAtOnce() {
    return true;
  }

  @Override
  public Event read(Block source, long offset, MemorySegment destination) {
    long from = address(source) + offset;
    return destination.byteSize() == 0
        ? marker()
        : submit("cuMemcpyDtoHAsync_v2", () -> Cuda.cuMemcpyDtoHAsync(destination, from, stream));
  }

  @Override
  public Event copy(Block source, long sourceOffset, Block destination, long offset, long bytes) {
    CudaBlock from = devices(source);
    CudaBlock to = devices(destination);
    long start = from.address() + sourceOffset;
    long target = to.address() + offset;
    if (bytes == 0) {
      return marker();
    }
    if (from.owner().context().handle() == to.owner().context().handle()
        || from.kind() != BlockKind.DEVICE
        || to.kind() != BlockKind.DEVICE) {
      return submit(
          "cuMemcpyDtoDAsync_v2", () -> Cuda.cuMemcpyDtoDAsync(target, start, bytes, stream));
    }
    return submit(
        "cuMemcpyPeerAsync",
        () ->
            Cuda.cuMemcpyPeerAsync(
                target,
                to.owner().context().handle(),
                start,
                from.owner().context().handle(),
                bytes,
                stream));
  }

  @Override
  public Event fill(Block block, long offset, long bytes, byte value) {
    long to = address(block) + offset;
    return bytes == 0
        ? marker()
        : submit("cuMemsetD8Async", () -> Cuda.cuMemsetD8Async(to, value, bytes, stream));
  }

  @Override
  public @Nullable Event fillWords(Block block, long offset, long bytes, int width, int word) {
    long to = address(block) + offset;
    if (to % width != 0 || bytes % width != 0) {
      return null;
    }
    long count = bytes / width;
    if (count == 0) {
      return marker();
    }
    return width == Short.BYTES
        ? submit("cuMemsetD16Async", () -> Cuda.cuMemsetD16Async(to, (short) word, count, stream))
        : submit("cuMemsetD32Async", () -> Cuda.cuMemsetD32Async(to, word, count, stream));
  }

  @Override
  public Event launch(Launch launch) {
    if (!(launch.program() instanceof CudaProgram program) || !program.runsOn(device)) {
      throw new IllegalArgumentException(
          "a program that was not compiled for " + device.info().id() + " cannot run there");
    }
    return launch.range().items() == 0
        ? marker()
        : submit("cuLaunchKernel", submission -> program.launch(stream, submission, launch));
  }

  /**
   * Without concurrent access, the host may touch managed memory while kernels run only if that
   * memory is attached to the host alone.
   */
  @Override
  public Event acquire(Block block) {
    return attach(own(block), Cuda.CU_MEM_ATTACH_HOST, Cuda.CU_MEM_ATTACH_GLOBAL);
  }

  @Override
  public Event release(Block block) {
    return attach(own(block), Cuda.CU_MEM_ATTACH_GLOBAL, Cuda.CU_MEM_ATTACH_HOST);
  }

  private Event attach(CudaBlock block, int whom, int before) {
    return switch (block.hostAccess()) {
      case DIRECT -> marker();
      case MAPPED -> attachOrUndo(block.allocation(), whom, before);
      case NONE ->
          throw new IllegalArgumentException(
              "the host reaches a block of " + block.byteSize() + " bytes by copies only");
    };
  }

  /**
   * Attaches managed memory. If this throws, the memory is attached as before: a host that keeps
   * the memory after a failed release must not crash at the next access.
   */
  private Event attachOrUndo(long allocation, int whom, int before) {
    // On a closed queue there is nothing to undo, and its stream may be destroyed.
    requireOpen();
    try {
      return submit(
          "cuStreamAttachMemAsync", () -> Cuda.cuStreamAttachMemAsync(stream, allocation, whom));
    } catch (RuntimeException | Error refused) {
      Closing.surviving(
          () ->
              context.run(
                  () -> {
                    Cuda.cuStreamAttachMemAsync(stream, allocation, before);
                    Cuda.cuStreamSynchronize(stream);
                  }));
      throw refused;
    }
  }

  @Override
  public @Nullable Event prefetch(Block block, long offset, long bytes, boolean toDevice) {
    CudaBlock moved = own(block);
    if (moved.kind() != BlockKind.UNIFIED || moved.hostAccess() != HostAccess.DIRECT) {
      return null;
    }
    long from = moved.address() + offset;
    int to = toDevice ? device.properties().handle() : Cuda.CU_DEVICE_CPU;
    return bytes == 0
        ? null
        : submit("cuMemPrefetchAsync", () -> Cuda.cuMemPrefetchAsync(from, bytes, to, stream));
  }

  @Override
  public void after(Event event) {
    requireOpen();
    after(device, stream, event);
  }

  /** Makes commands that are submitted to a stream from now on wait for a command. */
  static void after(CudaDevice device, long stream, Event event) {
    if (!(event instanceof CudaEvent awaited)) {
      throw new IllegalArgumentException(
          "an event of another backend cannot be awaited by a queue of " + device.info().id());
    }
    // A stream keeps its own order. An event that is done delays nothing; a failed one would fail
    // the commands after it.
    if (!awaited.isOf(stream) && !awaited.isDone()) {
      device.context().run(() -> awaited.holdUp(stream));
    }
  }

  @Override
  public long handle() {
    return stream;
  }

  @Override
  public Event mark() {
    return marker();
  }

  private CudaEvent marker() {
    return submit("cuEventRecord", _ -> {});
  }

  private CudaEvent submit(String command, Runnable only) {
    return submit(command, submission -> submission.add(only));
  }

  /**
   * Submits commands, and records an event after them. The event is created first, so that the end
   * of every submitted command can be awaited.
   */
  private CudaEvent submit(String command, Consumer<Submission> commands) {
    requireOpen();
    return context.call(
        () -> {
          long event = events.take();
          Submission submission = new Submission();
          try {
            commands.accept(submission);
            Cuda.cuEventRecord(event, stream);
            return new CudaEvent(context, events, command, event, stream);
          } catch (RuntimeException | Error refused) {
            if (submission.hasBegun()) {
              // Started commands must not outlive this call: the caller would free the memory that
              // they use.
              Closing.surviving(() -> Cuda.cuStreamSynchronize(stream));
            }
            events.giveBack(event);
            throw refused;
          }
        });
  }

  private long address(Block block) {
    return devices(block).address();
  }

  /** Returns a block that commands can use. */
  private CudaBlock devices(Block block) {
    return own(block).requireDevices();
  }

  private CudaBlock own(Block block) {
    if (block instanceof CudaBlock cuda) {
      return cuda;
    }
    throw new IllegalArgumentException(
        "a block of another backend is not reached by " + device.info().id());
  }

  @Override
  public void finish() {
    try (CudaEvent last = marker()) {
      last.await();
    }
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true) || Shutdown.hasBegun()) {
      return;
    }
    Closing.surviving(
        () ->
            context.run(
                () -> {
                  Closing.surviving(() -> Cuda.cuStreamSynchronize(stream));
                  if (ownsStream) {
                    Cuda.cuStreamDestroy(stream);
                  }
                }));
  }

  private void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException("a queue of " + device.info().id() + " is used after close");
    }
  }
}
