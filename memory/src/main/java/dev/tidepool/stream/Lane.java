package dev.tidepool.stream;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.MapMode;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.stream.Chunks.Range;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One of the threads that carry chunks through an accelerator: read, compute, write, and the next
 * one. A lane does one thing at a time; that it overlaps with the others makes the pipeline.
 *
 * <p>Ownership: a lane's buffers are its own, made by its thread, which closes them before it
 * leaves. Only {@link Chunks} is shared.
 */
final class Lane implements Runnable {
  /**
   * What every lane works with.
   *
   * @param sources what is read, by the kernel's names
   * @param sinks what is written, by the kernel's names
   * @param scalars values by the kernel's names
   * @param allocation where buffers are born
   */
  record Job(
      UnifiedMemoryManager memory,
      Kernel kernel,
      Map<String, ElementSource> sources,
      Map<String, ElementSink> sinks,
      Map<String, Object> scalars,
      Allocation allocation) {}

  private final Job job;
  private final Chunks chunks;
  private final Map<String, UnifiedBuffer<?>> buffers = new LinkedHashMap<>();
  private long capacity;

  /** What the kernel takes for a chunk that fills the buffers, as all but the last do. */
  private Arguments full = Arguments.of();

  Lane(Job job, Chunks chunks) {
    this.job = job;
    this.chunks = chunks;
  }

  @Override
  public void run() {
    try {
      do {
        for (Range range = chunks.take(); range != null; range = chunks.take()) {
          if (!carry(range)) {
            return;
          }
        }
        release();
      } while (!chunks.leave());
    } catch (Throwable e) {
      chunks.fail(e);
      release();
      chunks.leave();
    }
  }

  /** Carries a range through, in parts where memory runs out; false if this lane gave up. */
  private boolean carry(Range range) {
    ArrayDeque<Range> open = new ArrayDeque<>();
    open.add(range);
    for (Range part = open.poll(); part != null && !chunks.isStopped(); part = open.poll()) {
      if (part.count() > chunks.size()) {
        open.addAll(Chunks.split(part, chunks.size()));
        continue;
      }
      try {
        compute(part);
      } catch (OutOfDeviceMemoryException e) {
        release();
        open.push(part);
        if (!chunks.halve(part.count())) {
          if (chunks.giveUp(open)) {
            return false;
          }
          throw e;
        }
      }
    }
    return true;
  }

  private void compute(Range range) {
    reserve(range.count());
    Map<String, UnifiedBuffer<?>> views = buffers;
    boolean partial = range.count() < capacity;
    if (partial) {
      views = new LinkedHashMap<>();
      for (Map.Entry<String, UnifiedBuffer<?>> buffer : buffers.entrySet()) {
        views.put(buffer.getKey(), buffer.getValue().slice(0, range.count()));
      }
    }
    for (Map.Entry<String, ElementSource> source : job.sources().entrySet()) {
      try (HostMapping mapping = view(views, source.getKey()).map(MapMode.WRITE)) {
        source.getValue().read(range.from(), mapping.segment());
      }
    }
    job.kernel().execute(partial ? arguments(views) : full);
    for (Map.Entry<String, ElementSink> sink : job.sinks().entrySet()) {
      try (HostMapping mapping = view(views, sink.getKey()).map(MapMode.READ)) {
        sink.getValue().write(range.from(), mapping.segment());
      }
    }
    chunks.completed(range.count());
    if (partial) {
      views.values().forEach(UnifiedBuffer::close);
    }
  }

  private Arguments arguments(Map<String, UnifiedBuffer<?>> views) {
    Map<String, Object> arguments = new LinkedHashMap<>(job.scalars());
    arguments.putAll(views);
    return Arguments.of(arguments);
  }

  private static UnifiedBuffer<?> view(Map<String, UnifiedBuffer<?>> views, String name) {
    @Nullable UnifiedBuffer<?> view = views.get(name);
    if (view == null) {
      throw new AssertionError("no buffer for " + name);
    }
    return view;
  }

  /** Sees to buffers of at least {@code count} elements, and of no more than chunks have now. */
  private void reserve(long count) {
    long wanted = Math.max(count, chunks.size());
    if (capacity >= count && capacity <= wanted) {
      return;
    }
    release();
    job.sources().forEach((name, source) -> allocate(name, source.elementType(), wanted));
    job.sinks().forEach((name, sink) -> allocate(name, sink.elementType(), wanted));
    full = arguments(buffers);
    capacity = wanted;
  }

  private void allocate(String name, ElementType<?> type, long count) {
    if (!buffers.containsKey(name)) {
      buffers.put(name, job.memory().allocate(type, count, job.allocation()));
    }
  }

  private void release() {
    buffers.values().forEach(UnifiedBuffer::close);
    buffers.clear();
    full = Arguments.of();
    capacity = 0;
  }
}
