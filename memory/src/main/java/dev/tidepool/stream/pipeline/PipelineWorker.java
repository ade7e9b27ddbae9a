package dev.tidepool.stream.pipeline;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.stream.chunk.AcceleratorRate;
import dev.tidepool.stream.chunk.ChunkScheduler;
import dev.tidepool.stream.chunk.ChunkScheduler.Range;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedCollection;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A worker of an accelerator: reads a chunk, computes it, writes it, and takes the next one. Each
 * worker does one step at a time; the steps of several workers overlap.
 *
 * <p>Ownership: the worker's thread allocates its buffers, and closes them before it leaves.
 * Workers share only the {@link ChunkScheduler}.
 */
public final class PipelineWorker implements Runnable {
  /**
   * A kernel of a pipeline, on one accelerator.
   *
   * @param arrays the names of its arrays
   * @param scalars the values of its scalars
   */
  public record Stage(Kernel kernel, Set<String> arrays, Map<String, Object> scalars) {
    /** Copies the collections. */
    public Stage {
      arrays = Set.copyOf(arrays);
      scalars = Map.copyOf(scalars);
    }
  }

  /**
   * What all workers of an accelerator share.
   *
   * @param stages the kernels, in their order
   * @param arrays the buffers of a chunk, by the kernels' names
   * @param sources the sources, by the kernels' names
   * @param sinks the sinks, by the kernels' names
   * @param locations where buffers are allocated, by the kernels' names
   * @param written receives every range that all sinks have received
   */
  public record Job(
      UnifiedMemoryManager memory,
      List<Stage> stages,
      Map<String, ElementType<?>> arrays,
      Map<String, Source> sources,
      Map<String, Sink> sinks,
      Map<String, MemoryLocation> locations,
      Consumer<Range> written) {}

  private final Job job;
  private final AcceleratorRate rate;
  private final ChunkScheduler chunks;
  private final Map<String, UnifiedBuffer<?>> buffers = new LinkedHashMap<>();
  private long capacity;

  /**
   * The arguments of the kernels for a chunk that fills the buffers, as all chunks but the last do.
   */
  private List<Arguments> full = List.of();

  /** The part that works now, and is the cause of a failure. */
  private enum Phase {
    ACCELERATOR,
    SOURCE,
    SINK
  }

  private Phase phase = Phase.ACCELERATOR;

  /**
   * Whether a chunk was computed. The time of the first one includes compilation and fresh memory.
   */
  private boolean warm;

  public PipelineWorker(Job job, AcceleratorRate rate, ChunkScheduler chunks) {
    this.job = job;
    this.rate = rate;
    this.chunks = chunks;
  }

  @Override
  public void run() {
    try {
      do {
        for (Range range = chunks.take(rate); range != null; range = chunks.take(rate)) {
          try {
            if (!carry(range)) {
              return;
            }
          } finally {
            chunks.ended(rate, range);
          }
        }
        release();
      } while (!chunks.leave(rate));
    } catch (Throwable e) {
      chunks.fail(e);
      try {
        release();
      } catch (Throwable full) {
        // Its buffers become unreachable, and are reclaimed as such.
      }
      chunks.leave(rate);
    }
  }

  /** Computes a range, in parts if memory runs out. Returns false if this worker gave up. */
  private boolean carry(Range range) {
    ArrayDeque<Range> open = new ArrayDeque<>();
    open.add(range);
    for (Range part = open.poll(); part != null && !chunks.isStopped(); part = open.poll()) {
      if (part.count() > rate.size()) {
        open.addAll(ChunkScheduler.split(part, rate.size()));
        continue;
      }
      long workersBefore = chunks.workersLeft();
      try {
        compute(part);
      } catch (OutOfDeviceMemoryException e) {
        release();
        if (phase == Phase.SINK) {
          throw e; // Another sink may have the range already.
        }
        open.push(part);
        if (!ChunkScheduler.halve(rate, part.count())) {
          switch (chunks.withoutMemory(rate, open, workersBefore)) {
            case LEAVE -> {
              return false;
            }
            case FAIL -> throw e;
            case RETRY -> {}
          }
        }
      } catch (RuntimeException | Error e) {
        open.push(part);
        if (phase != Phase.ACCELERATOR || !leaveToOthers(open, e)) {
          throw e;
        }
        return false;
      }
    }
    return true;
  }

  private boolean leaveToOthers(SequencedCollection<Range> open, Throwable e) {
    release();
    return chunks.dropOut(rate, open, e);
  }

  private void compute(Range range) {
    long start = System.nanoTime();
    phase = Phase.ACCELERATOR;
    reserve(range.count());
    Map<String, UnifiedBuffer<?>> views = buffers;
    boolean partial = range.count() < capacity;
    if (partial) {
      views = new LinkedHashMap<>();
      for (Map.Entry<String, UnifiedBuffer<?>> buffer : buffers.entrySet()) {
        views.put(buffer.getKey(), buffer.getValue().slice(0, range.count()));
      }
    }
    for (Map.Entry<String, Source> source : job.sources().entrySet()) {
      UnifiedBuffer<?> buffer = view(views, source.getKey());
      phase = Phase.SOURCE;
      boolean loaded = source.getValue().load(range.from(), buffer, job.memory());
      phase = Phase.ACCELERATOR;
      if (!loaded) {
        try (HostMapping mapping = buffer.map(MapMode.WRITE)) {
          phase = Phase.SOURCE;
          source.getValue().read(range.from(), mapping.segment());
          phase = Phase.ACCELERATOR;
        }
      }
    }
    List<Arguments> arguments = partial ? arguments(views) : full;
    for (int i = 0; i < arguments.size(); i++) {
      job.stages().get(i).kernel().execute(arguments.get(i));
    }
    write(range, views);
    chunks.completed(rate, range.count(), warm ? System.nanoTime() - start : 0);
    warm = true;
    if (partial) {
      views.values().forEach(UnifiedBuffer::close);
    }
  }

  /**
   * Fetches all results before it writes any. A range that fails after that is not given to another
   * worker, so no sink receives a range twice.
   */
  private void write(Range range, Map<String, UnifiedBuffer<?>> views) {
    Map<String, HostMapping> mappings = new LinkedHashMap<>();
    try {
      for (String name : job.sinks().keySet()) {
        mappings.put(name, view(views, name).map(MapMode.READ));
      }
      phase = Phase.SINK;
      mappings.forEach(
          (name, mapping) ->
              known(job.sinks().get(name), name).write(range.from(), mapping.segment()));
      job.written().accept(range);
    } finally {
      mappings.values().forEach(HostMapping::close);
    }
  }

  private List<Arguments> arguments(Map<String, UnifiedBuffer<?>> views) {
    List<Arguments> all = new ArrayList<>();
    for (Stage stage : job.stages()) {
      Map<String, Object> arguments = new LinkedHashMap<>(stage.scalars());
      views.forEach(
          (name, buffer) -> {
            if (stage.arrays().contains(name)) {
              arguments.put(name, buffer);
            }
          });
      all.add(Arguments.of(arguments));
    }
    return all;
  }

  private static UnifiedBuffer<?> view(Map<String, UnifiedBuffer<?>> views, String name) {
    return known(views.get(name), name);
  }

  static <T> T known(@Nullable T value, String name) {
    if (value == null) {
      throw new AssertionError("nothing is known of " + name);
    }
    return value;
  }

  /**
   * Allocates buffers of at least {@code count} elements, unless there are some that are no larger
   * than chunks may be now.
   */
  private void reserve(long count) {
    long wanted = Math.max(count, rate.size());
    if (capacity >= count && capacity <= wanted) {
      return;
    }
    release();
    job.arrays().forEach((name, type) -> allocate(name, type, wanted));
    full = arguments(buffers);
    capacity = wanted;
  }

  private void allocate(String name, ElementType<?> type, long count) {
    Allocation allocation =
        Allocation.at(known(job.locations().get(name), name)).tag("chunked pipeline");
    buffers.put(name, job.memory().allocate(type, count, allocation));
  }

  private void release() {
    buffers.values().forEach(UnifiedBuffer::close);
    buffers.clear();
    full = List.of();
    capacity = 0;
  }
}
