package dev.tidepool.stream;

import dev.tidepool.Allocation;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.cpu.CpuDevice;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Streams arrays of any size through an elementwise kernel, chunk by chunk.
 *
 * <p>Several lanes run side by side, at least two chunks in flight: while one waits for its file,
 * another one computes and a third one writes. Where the accelerator shares the host's memory,
 * files are read into and written from the very bytes that the kernel computes on, and a chunk
 * stays in the processor's cache from its file to its file. Elsewhere buffers are page-locked on
 * the host, and lanes overlap their transfers.
 *
 * <p>When memory runs out, chunks are halved and the work goes on. The first failure of a lane
 * stops all of them and is thrown by {@link #run()}, with those of other lanes attached.
 *
 * <p>A pipeline runs once. {@link #run()} is for one thread, {@link #cancel()} for any.
 */
public final class ChunkedPipeline {
  private static final long PROGRESS_MILLISECONDS = 100;

  private final Lane.Job job;
  private final ChunkPlan plan;
  private final Chunks chunks;
  private final long bytesPerElement;
  private final long length;
  private final StreamProgress progress;
  private final AtomicBoolean started = new AtomicBoolean();

  private ChunkedPipeline(Builder builder, StreamOptions options) {
    boolean shared = builder.memory.accelerator().capabilities().contains(Capability.SHARED_MEMORY);
    Map<String, ElementType<?>> arrays = new LinkedHashMap<>();
    long moved = 0;
    for (Map.Entry<String, ElementSource> source : builder.sources.entrySet()) {
      arrays.put(source.getKey(), source.getValue().elementType());
      moved += source.getValue().elementType().byteSize();
    }
    for (Map.Entry<String, ElementSink> sink : builder.sinks.entrySet()) {
      arrays.put(sink.getKey(), sink.getValue().elementType());
      moved += sink.getValue().elementType().byteSize();
    }
    long widest = 0;
    long perElement = 0;
    for (ElementType<?> type : arrays.values()) {
      widest = Math.max(widest, type.byteSize());
      perElement += type.byteSize();
    }
    this.bytesPerElement = moved;
    this.length = builder.length;
    this.progress = options.progress();
    this.plan =
        ChunkPlan.of(
            new ChunkPlan.Work(
                length, widest, perElement, shared, Runtime.getRuntime().availableProcessors()),
            options);
    this.chunks = new Chunks(length, plan);
    MemoryLocation location = shared ? MemoryLocation.DEVICE : MemoryLocation.PINNED;
    this.job =
        new Lane.Job(
            builder.memory,
            builder.kernel,
            Map.copyOf(builder.sources),
            Map.copyOf(builder.sinks),
            Map.copyOf(builder.scalars),
            Allocation.at(location).tag("chunked pipeline"));
  }

  /**
   * Begins a pipeline.
   *
   * @param memory where chunks are computed
   * @param kernel an elementwise kernel of {@code memory}
   */
  public static Builder of(UnifiedMemoryManager memory, Kernel kernel) {
    return new Builder(memory, kernel);
  }

  /** Chunks in flight at most. */
  public int lanes() {
    return plan.lanes();
  }

  /** Elements of one chunk, which shrink when memory runs out. */
  public long chunkLength() {
    return chunks.size();
  }

  /** Bytes that are read and written in all. */
  public long totalBytes() {
    return length * bytesPerElement;
  }

  /**
   * Streams everything; returns when all was written.
   *
   * <p>An interrupt of the calling thread cancels, and stays set.
   *
   * @throws CancellationException if it was cancelled; what was written so far is undefined
   * @throws IllegalStateException if it ran before
   * @throws dev.tidepool.OutOfDeviceMemoryException if not even the smallest chunk finds memory
   * @throws dev.tidepool.TransferException if a source or a sink fails
   */
  public void run() {
    if (!started.compareAndSet(false, true)) {
      throw new IllegalStateException("a pipeline runs once; make another one");
    }
    if (length > 0) {
      startLanes();
      awaitLanes();
      rethrow();
    }
    progress.moved(totalBytes(), totalBytes());
  }

  private void startLanes() {
    int lane = 0;
    try {
      for (; lane < plan.lanes(); lane++) {
        Thread.ofPlatform().name("tidepool-lane-" + lane).daemon().start(lane());
      }
    } catch (OutOfMemoryError e) {
      // The system gives no further thread.
      chunks.fail(e);
      for (; lane < plan.lanes(); lane++) {
        chunks.leave();
      }
    }
  }

  private Runnable lane() {
    Lane lane = new Lane(job, chunks);
    boolean everyProcessor = plan.lanes() >= Runtime.getRuntime().availableProcessors();
    return everyProcessor ? () -> CpuDevice.computeAlone(lane) : lane;
  }

  private void awaitLanes() {
    boolean interrupted = false;
    boolean ended = false;
    while (!ended) {
      try {
        ended = chunks.await(PROGRESS_MILLISECONDS);
      } catch (InterruptedException _) {
        interrupted = true;
        chunks.cancel();
      }
      if (!ended) {
        progress.moved(chunks.completed() * bytesPerElement, totalBytes());
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void rethrow() {
    Throwable failure = chunks.failure();
    if (failure instanceof RuntimeException e) {
      throw e;
    }
    if (failure instanceof Error e) {
      throw e;
    }
    if (chunks.isCancelled()) {
      throw new CancellationException(
          "cancelled after " + chunks.completed() + " of " + length + " elements");
    }
  }

  /** Stops before the next chunks; {@link #run()} then throws. Harmless when all is done. */
  public void cancel() {
    chunks.cancel();
  }

  /** Collects what a pipeline streams; for one thread. */
  public static final class Builder {
    private final UnifiedMemoryManager memory;
    private final Kernel kernel;
    private final Map<String, ElementSource> sources = new LinkedHashMap<>();
    private final Map<String, ElementSink> sinks = new LinkedHashMap<>();
    private final Map<String, Object> scalars = new LinkedHashMap<>();
    private long length = -1;

    private Builder(UnifiedMemoryManager memory, Kernel kernel) {
      this.memory = Objects.requireNonNull(memory, "memory");
      this.kernel = Objects.requireNonNull(kernel, "kernel");
    }

    /**
     * What a name of the kernel reads.
     *
     * @throws IllegalArgumentException if the name has a source already, or the length differs from
     *     that of other arrays
     */
    public Builder source(String name, ElementSource source) {
      checkLength(name, source.length());
      checkFree(name, sources);
      sources.put(name, source);
      return this;
    }

    /**
     * What takes a name's results. A name with a source too is updated: the kernel reads what it
     * overwrites.
     *
     * @throws IllegalArgumentException if the name has a sink already, the length differs from that
     *     of other arrays, or the name's source has another type
     */
    public Builder sink(String name, ElementSink sink) {
      checkLength(name, sink.length());
      checkFree(name, sinks);
      ElementSource source = sources.get(name);
      if (source != null && !source.elementType().equals(sink.elementType())) {
        throw new IllegalArgumentException(
            "'"
                + name
                + "' is read as "
                + source.elementType()
                + " but written as "
                + sink.elementType());
      }
      sinks.put(name, sink);
      return this;
    }

    /** A number or a truth value for a name. */
    public Builder scalar(String name, Object value) {
      checkFree(name, scalars);
      scalars.put(name, Objects.requireNonNull(value, "value"));
      return this;
    }

    private static void checkFree(String name, Map<String, ?> bound) {
      if (bound.containsKey(name)) {
        throw new IllegalArgumentException("'" + name + "' is given twice");
      }
    }

    private void checkLength(String name, long count) {
      if (length >= 0 && count != length) {
        throw new IllegalArgumentException(
            "'" + name + "' has " + count + " elements, the arrays before it have " + length);
      }
      length = count;
    }

    /**
     * The pipeline, which then {@link ChunkedPipeline#run() runs} once.
     *
     * @throws IllegalArgumentException if nothing is written, or the memory limit is too small; the
     *     message says what works
     */
    public ChunkedPipeline build(StreamOptions options) {
      if (sinks.isEmpty()) {
        throw new IllegalArgumentException("a pipeline without a sink computes nothing; add one");
      }
      return new ChunkedPipeline(this, options);
    }
  }
}
