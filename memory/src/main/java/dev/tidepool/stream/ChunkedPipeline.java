package dev.tidepool.stream;

import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.stream.UserEndpoints.UserSink;
import dev.tidepool.stream.UserEndpoints.UserSource;
import dev.tidepool.stream.chunk.AcceleratorRate;
import dev.tidepool.stream.chunk.ChunkPlan;
import dev.tidepool.stream.chunk.ChunkScheduler;
import dev.tidepool.stream.file.AtomicFile;
import dev.tidepool.stream.pipeline.ArrayWorker;
import dev.tidepool.stream.pipeline.BufferEndpoint;
import dev.tidepool.stream.pipeline.PipelineWorker;
import dev.tidepool.stream.pipeline.PipelineWorker.Stage;
import dev.tidepool.stream.pipeline.Sink;
import dev.tidepool.stream.pipeline.Source;
import dev.tidepool.stream.pipeline.StagePlan;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Streams arrays of any size through kernels, chunk by chunk, on one accelerator or several.
 *
 * <p>Several workers run concurrently, with at least two chunks in flight: while one waits for its
 * file, another computes and a third writes. If the accelerator shares the host's memory, files are
 * read into and written from the memory that the kernel computes on, and a chunk stays in the
 * processor's cache. Expressions over files on the CPU usually compute in Java arrays, and some
 * files are copied to and from these through a small block. On other accelerators, buffers that the
 * host fills or empties are page-locked, and workers overlap their transfers. Intermediate results
 * between kernels stay on the accelerator.
 *
 * <p>Several accelerators take chunks from one queue, according to their measured speed. If one
 * fails, the others take its chunks, and {@link #dropped()} reports the failure. When memory runs
 * out, chunks are halved and the pipeline continues. The first failure that neither other
 * accelerators nor smaller chunks repair stops all workers. {@link #run()} throws it, with the
 * failures of other workers as suppressed exceptions.
 *
 * <p>A pipeline runs once. One thread may call {@link #run()}, any thread {@link #cancel()}.
 */
public final class ChunkedPipeline {
  private static final long PROGRESS_MILLISECONDS = 100;

  /** The chunks of each worker that sinks may keep until an older one has come. */
  private static final long MOST_AHEAD = 2;

  /** An accelerator of the pipeline, with its job. */
  private record Participant(
      PipelineWorker.Job job,
      ArrayWorker.@Nullable Job inArrays,
      ChunkPlan plan,
      AcceleratorRate rate) {}

  private final List<Participant> participants = new ArrayList<>();
  private final ChunkScheduler chunks;
  private final int lanes;
  private final long bytesPerElement;
  private final long length;
  private final StreamProgress progress;
  private final AtomicBoolean started = new AtomicBoolean();

  private ChunkedPipeline(Builder builder, StreamOptions options) {
    StagePlan stagePlan = builder.plan();
    Map<String, ElementType<?>> arrays = stagePlan.arrays();
    long widest = arrays.values().stream().mapToLong(ElementType::byteSize).max().orElse(0);
    long perElement = arrays.values().stream().mapToLong(ElementType::byteSize).sum();
    this.bytesPerElement = builder.movedBytesPerElement();
    this.length = builder.length;
    this.progress = options.progress();
    for (int i = 0; i < builder.memories.size(); i++) {
      UnifiedMemoryManager memory = builder.memories.get(i);
      boolean shared = memory.accelerator().capabilities().contains(Capability.SHARED_MEMORY);
      int processors = Runtime.getRuntime().availableProcessors();
      ChunkPlan plan =
          ChunkPlan.of(
              new ChunkPlan.Work(
                  length, widest, perElement, shared, processors, builder.memories.size()),
              new ChunkPlan.Wishes(options.lanes(), options.chunkBytes(), options.memoryLimit()));
      PipelineWorker.Job job =
          new PipelineWorker.Job(
              memory,
              builder.stages(i, stagePlan),
              arrays,
              Collections.unmodifiableMap(new LinkedHashMap<>(builder.sources)),
              Collections.unmodifiableMap(new LinkedHashMap<>(builder.sinks)),
              builder.locations(arrays.keySet(), shared),
              builder.written);
      participants.add(
          new Participant(
              job,
              ArrayWorker.Job.of(job, plan, options.memoryLimit()),
              plan,
              AcceleratorRate.of(memory, plan)));
    }
    this.lanes = participants.stream().mapToInt(participant -> participant.plan().workers()).sum();
    List<ChunkScheduler.Range> open = builder.open;
    this.chunks =
        new ChunkScheduler(
            length,
            open == null ? List.of(new ChunkScheduler.Range(0, length)) : open,
            participants.stream().map(Participant::rate).toList(),
            lanes,
            builder.ordered
                ? MOST_AHEAD * lanes * participants.getFirst().plan().chunk()
                : Long.MAX_VALUE);
  }

  /**
   * Returns a builder for a pipeline.
   *
   * @param memory the manager of the accelerator that computes
   * @param kernel a kernel of {@code memory}. It takes every array and scalar of the pipeline,
   *     unless further kernels are {@linkplain Builder#then added}
   */
  public static Builder of(UnifiedMemoryManager memory, Kernel kernel) {
    return new Builder(memory, kernel);
  }

  /** Returns the most chunks in flight, on all accelerators together. */
  public int lanes() {
    return lanes;
  }

  /** Returns the bytes that are read and written in total. */
  public long totalBytes() {
    return length * bytesPerElement;
  }

  /**
   * Returns the accelerators that failed while others continued, by id, with their failures; empty
   * before the pipeline ran.
   */
  public Map<String, Throwable> dropped() {
    Map<String, Throwable> dropped = new LinkedHashMap<>();
    for (Participant participant : participants) {
      Throwable failure = participant.rate().failure();
      if (failure != null) {
        dropped.put(participant.rate().accelerator(), failure);
      }
    }
    return dropped;
  }

  /**
   * Runs the pipeline, and waits until everything is written.
   *
   * <p>An interrupt of the calling thread cancels the pipeline, and stays set.
   *
   * @throws CancellationException if the pipeline was cancelled; the results are undefined then
   * @throws IllegalStateException if the pipeline ran before
   * @throws dev.tidepool.OutOfDeviceMemoryException if there is no memory even for the smallest
   *     chunk
   * @throws dev.tidepool.TransferException if a source or a sink fails
   */
  public void run() {
    if (!started.compareAndSet(false, true)) {
      throw new IllegalStateException("a pipeline runs once; make another one");
    }
    if (Thread.currentThread().isInterrupted()) {
      chunks.cancel();
    }
    if (length > 0) {
      participants.getFirst().job().sinks().values().forEach(ChunkedPipeline::reserve);
      startWorkers();
      awaitWorkers();
    }
    rethrow();
    progress.moved(totalBytes(), totalBytes());
  }

  private static void reserve(Sink sink) {
    AtomicFile file = sink.file();
    if (file != null) {
      file.reserve();
    }
  }

  private void startWorkers() {
    int number = 0;
    for (Participant participant : participants) {
      for (int i = 0; i < participant.plan().workers(); i++) {
        try {
          String name = "tidepool-pipeline-" + number++;
          Thread.ofPlatform().name(name).daemon().start(worker(participant));
        } catch (OutOfMemoryError e) {
          // The system provides no further thread, or the heap is full.
          chunks.fail(e);
          chunks.leave(participant.rate());
        }
      }
    }
  }

  private Runnable worker(Participant participant) {
    ArrayWorker.Job inArrays = participant.inArrays();
    if (inArrays != null) {
      return new ArrayWorker(inArrays, participant.rate(), chunks);
    }
    PipelineWorker worker = new PipelineWorker(participant.job(), participant.rate(), chunks);
    boolean everyProcessor =
        participant.plan().workers() >= Runtime.getRuntime().availableProcessors();
    return everyProcessor ? () -> computeAlone(worker, participant.rate()) : worker;
  }

  private void computeAlone(PipelineWorker worker, AcceleratorRate rate) {
    try {
      CpuDevice.computeAlone(worker);
    } catch (Throwable e) {
      // The heap was too full to start: the worker itself throws nothing.
      chunks.fail(e);
      chunks.leave(rate);
    }
  }

  private void awaitWorkers() {
    boolean interrupted = false;
    boolean ended = false;
    while (!ended) {
      try {
        ended = chunks.await(PROGRESS_MILLISECONDS);
      } catch (InterruptedException _) {
        interrupted = true;
        chunks.cancel();
      }
      if (!ended && !chunks.isStopped()) {
        tellProgress();
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Calls the listener. If it throws, the pipeline ends when its workers have ended. */
  private void tellProgress() {
    try {
      progress.moved(chunks.completed() * bytesPerElement, totalBytes());
    } catch (Throwable e) { // Other languages throw checked exceptions, too.
      chunks.fail(e);
    }
  }

  private void rethrow() {
    Throwable failure = chunks.failure();
    if (failure != null) {
      throw Exceptions.unchecked(failure);
    }
    if (chunks.isCancelled()) {
      throw new CancellationException(
          "cancelled after " + chunks.completed() + " of " + length + " elements");
    }
  }

  /**
   * Stops the pipeline before its next chunks; {@link #run()} then throws. Does nothing if the
   * pipeline has ended.
   */
  public void cancel() {
    chunks.cancel();
  }

  @Override
  public String toString() {
    return "ChunkedPipeline[" + length + " elements, " + lanes + " lanes]";
  }

  /** Returns whether every accelerator computes the same bits for a kernel. */
  static boolean isExact(KernelSource source) {
    return source instanceof KernelSource.Elementwise(String expression)
        && Expression.parse(expression).isExact();
  }

  /** Builds a {@link ChunkedPipeline}. Not thread-safe. */
  public static final class Builder {
    private final Kernel first;
    private final List<KernelSource> further = new ArrayList<>();
    private final List<UnifiedMemoryManager> memories = new ArrayList<>();
    private final Map<String, Source> sources = new LinkedHashMap<>();
    private final Map<String, Sink> sinks = new LinkedHashMap<>();
    private final Map<String, Object> scalars = new LinkedHashMap<>();
    private long length = -1;
    private @Nullable List<ChunkScheduler.Range> open;
    private boolean ordered;
    private Consumer<ChunkScheduler.Range> written = _ -> {};

    private Builder(UnifiedMemoryManager memory, Kernel kernel) {
      memories.add(Objects.requireNonNull(memory, "memory"));
      first = Objects.requireNonNull(kernel, "kernel");
    }

    /**
     * Adds an accelerator, which takes a part of the chunks. The memory limit is divided evenly
     * among all accelerators.
     *
     * @throws IllegalArgumentException if the pipeline already uses this accelerator
     */
    public Builder on(UnifiedMemoryManager memory) {
      String id = memory.accelerator().id();
      if (memories.stream().anyMatch(other -> other.accelerator().id().equals(id))) {
        throw new IllegalArgumentException(id + " is given twice; name each accelerator once");
      }
      memories.add(memory);
      return this;
    }

    /**
     * Adds a kernel, which runs after the previous kernels on the same chunk. It reads sources,
     * scalars, and results of previous kernels, which then need no sink.
     */
    public Builder then(KernelSource kernel) {
      further.add(Objects.requireNonNull(kernel, "kernel"));
      return this;
    }

    /** Sets the part of the arrays that remains to be computed. */
    void resuming(List<ChunkScheduler.Range> ranges) {
      open = ranges;
    }

    /** Keeps chunks in flight near each other, for sinks that keep those before their turn. */
    void ordered() {
      ordered = true;
    }

    /**
     * Adds a listener for ranges that all sinks have received; it is called after previous
     * listeners, on the threads that wrote the ranges.
     */
    void listening(Consumer<ChunkScheduler.Range> listener) {
      written = written.andThen(listener);
    }

    /** Returns the number of elements of each array; -1 before the first array. */
    long length() {
      return length;
    }

    /**
     * Adds the source that a name of a kernel reads.
     *
     * @throws IllegalArgumentException if the name already has a source or a value, or the length
     *     differs from that of other arrays
     */
    public Builder source(String name, ElementSource source) {
      return source(name, new UserSource(source));
    }

    Builder source(String name, Source source) {
      checkLength(name, source.length());
      checkFree(name, sources);
      checkFree(name, scalars);
      sources.put(name, source);
      return this;
    }

    /**
     * Adds the sink that receives a name's results. If the name also has a source, the kernel reads
     * the elements that it overwrites.
     *
     * @throws IllegalArgumentException if the name already has a sink or a value, the length
     *     differs from that of other arrays, or the name's source has another type
     */
    public Builder sink(String name, ElementSink sink) {
      return sink(name, new UserSink(sink));
    }

    Builder sink(String name, Sink sink) {
      checkLength(name, sink.length());
      checkFree(name, sinks);
      checkFree(name, scalars);
      Source source = sources.get(name);
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

    /**
     * Sets a number or a boolean for a name.
     *
     * @throws IllegalArgumentException if the name already has a value, a source or a sink
     */
    public Builder scalar(String name, Object value) {
      checkFree(name, scalars);
      checkFree(name, sources);
      checkFree(name, sinks);
      scalars.put(name, Objects.requireNonNull(value, "value"));
      return this;
    }

    private static void checkFree(String name, Map<String, ?> bound) {
      if (bound.containsKey(name)) {
        throw new IllegalArgumentException("'" + name + "' is given twice");
      }
    }

    private void checkLength(String name, long count) {
      if (count < 0) {
        throw new IllegalArgumentException("'" + name + "' has " + count + " elements");
      }
      if (length >= 0 && count != length) {
        throw new IllegalArgumentException(
            "'" + name + "' has " + count + " elements, but other arrays have " + length);
      }
      length = count;
    }

    /**
     * Returns the pipeline, which can {@link ChunkedPipeline#run() run} once.
     *
     * @throws IllegalArgumentException if there is no sink, a kernel reads a name without a source,
     *     a source, sink or scalar has a name that no kernel uses, the memory limit is too small,
     *     or the result would depend on the accelerator although {@link
     *     StreamOptions#deterministic()} is set; the message says what to do
     */
    public ChunkedPipeline build(StreamOptions options) {
      if (sinks.isEmpty()) {
        throw new IllegalArgumentException("a pipeline without a sink computes nothing; add one");
      }
      if (options.deterministic() && mayDiffer()) {
        throw new IllegalArgumentException(
            "results of functions such as exp may differ in their last bits between "
                + accelerators()
                + "; name one accelerator, or do not ask for the same bits");
      }
      StagePlan.checkUse(kernels(), sources.keySet(), scalars.keySet(), sinks.keySet());
      return new ChunkedPipeline(this, options);
    }

    private List<KernelSource> kernels() {
      List<KernelSource> kernels = new ArrayList<>(List.of(first.source()));
      kernels.addAll(further);
      return kernels;
    }

    private boolean mayDiffer() {
      long devices =
          memories.stream().map(memory -> memory.accelerator().name()).distinct().count();
      return devices > 1 && !kernels().stream().allMatch(ChunkedPipeline::isExact);
    }

    private String accelerators() {
      return memories.stream()
          .map(memory -> memory.accelerator().id())
          .collect(Collectors.joining(" and "));
    }

    private Map<String, ElementType<?>> boundArrays() {
      Map<String, ElementType<?>> arrays = new LinkedHashMap<>();
      sources.forEach((name, source) -> arrays.put(name, source.elementType()));
      sinks.forEach((name, sink) -> arrays.put(name, sink.elementType()));
      return arrays;
    }

    /**
     * Returns the location of each array. Page-locked memory is only for arrays that the host reads
     * or writes.
     */
    private Map<String, MemoryLocation> locations(Set<String> arrays, boolean shared) {
      Map<String, MemoryLocation> locations = new HashMap<>();
      for (String name : arrays) {
        Source source = sources.get(name);
        boolean touched =
            sinks.containsKey(name) || (source != null && !(source instanceof BufferEndpoint<?>));
        locations.put(name, touched && !shared ? MemoryLocation.PINNED : MemoryLocation.DEVICE);
      }
      return locations;
    }

    private StagePlan plan() {
      Map<String, ElementType<?>> bound = boundArrays();
      if (further.isEmpty()) {
        Set<String> everything = new LinkedHashSet<>(bound.keySet());
        everything.addAll(scalars.keySet());
        return new StagePlan(bound, List.of(everything));
      }
      return StagePlan.of(kernels(), bound, scalars, Set.of(), Map.of());
    }

    private List<Stage> stages(int accelerator, StagePlan plan) {
      UnifiedMemoryManager memory = memories.get(accelerator);
      List<Kernel> kernels = new ArrayList<>();
      kernels.add(accelerator == 0 ? first : memory.compile(first.source()));
      further.forEach(source -> kernels.add(memory.compile(source)));
      List<Stage> stages = new ArrayList<>();
      for (int i = 0; i < kernels.size(); i++) {
        Set<String> taken = plan.taken().get(i);
        Map<String, Object> values = new LinkedHashMap<>(scalars);
        values.keySet().retainAll(taken);
        stages.add(new Stage(kernels.get(i), taken, values));
      }
      return stages;
    }

    private long movedBytesPerElement() {
      long moved = 0;
      for (Source source : sources.values()) {
        moved += source.elementType().byteSize();
      }
      for (Sink sink : sinks.values()) {
        moved += sink.elementType().byteSize();
      }
      return moved;
    }
  }
}
