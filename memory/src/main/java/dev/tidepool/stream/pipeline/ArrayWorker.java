package dev.tidepool.stream.pipeline;

import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.expression.jvm.CpuLoop;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import dev.tidepool.expression.types.TypedProgram;
import dev.tidepool.runtime.transfers.DeviceAccelerator;
import dev.tidepool.stream.chunk.AcceleratorRate;
import dev.tidepool.stream.chunk.ChunkPlan;
import dev.tidepool.stream.chunk.ChunkScheduler;
import dev.tidepool.stream.chunk.ChunkScheduler.Range;
import dev.tidepool.stream.file.AtomicFile;
import dev.tidepool.stream.file.PositionalFile;
import dev.tidepool.stream.pipeline.PipelineWorker.Stage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A worker that computes expressions over files on the CPU, in Java arrays: the generated loops use
 * the arrays that chunks are read into and written from. If a file does not allow critical calls,
 * its bytes are copied through a block of native memory.
 *
 * <p>Ownership: the worker's thread creates the arrays and the block, and only it uses them.
 */
public final class ArrayWorker implements Runnable {
  /** Larger chunks are computed in buffers, so that the Java heap holds little. */
  private static final long LARGEST_ARRAY_BYTES = 1L << 20;

  private static final long BLOCK_ALIGNMENT = 4096;

  /** An expression as a loop, with the names of its arrays and the values of its scalars. */
  private static final class Step {
    final CpuLoop loop;
    final List<String> arrays;
    final long[] uniforms;

    Step(TypedProgram program, Map<String, ?> scalars) {
      loop = CpuLoop.compile(program);
      arrays = program.arrays().stream().map(TypedProgram.ArrayParameter::name).toList();
      uniforms = program.uniformValues(scalars);
    }
  }

  /** What all workers of an accelerator share. */
  public static final class Job {
    private final PipelineWorker.Job work;
    private final List<Step> steps = new ArrayList<>();

    private Job(PipelineWorker.Job work) {
      this.work = work;
      for (Stage stage : work.stages()) {
        steps.add(step(stage, work.arrays()));
      }
    }

    /** Returns the job in Java arrays; null if buffers are better or necessary. */
    public static @Nullable Job of(PipelineWorker.Job work, ChunkPlan plan, long memoryLimit) {
      long widest =
          work.arrays().values().stream().mapToLong(ElementType::byteSize).max().orElse(0);
      long perElement = work.arrays().values().stream().mapToLong(ElementType::byteSize).sum();
      boolean fits =
          plan.chunk() * widest <= LARGEST_ARRAY_BYTES
              && plan.workers() * plan.chunk() * (perElement + widest) <= memoryLimit;
      return fits && isCpu(work.memory()) && isOverFiles(work) ? new Job(work) : null;
    }

    private static boolean isCpu(UnifiedMemoryManager memory) {
      return memory.accelerator() instanceof DeviceAccelerator accelerator
          && accelerator.device() instanceof CpuDevice;
    }

    private static boolean isOverFiles(PipelineWorker.Job work) {
      return work.sources().values().stream().allMatch(source -> source.plainFile() != null)
          && work.sinks().values().stream()
              .allMatch(sink -> sink.file() != null || sink instanceof RangeSink)
          && work.stages().stream()
              .allMatch(stage -> stage.kernel().source() instanceof KernelSource.Elementwise);
    }

    private static Step step(Stage stage, Map<String, ElementType<?>> arrays) {
      Map<String, Operand> operands = new LinkedHashMap<>();
      arrays.forEach(
          (name, type) -> {
            if (stage.arrays().contains(name)) {
              operands.put(name, Operand.array(ScalarType.of(type)));
            }
          });
      stage.scalars().forEach((name, value) -> operands.put(name, Operand.scalar(value)));
      String expression = ((KernelSource.Elementwise) stage.kernel().source()).expression();
      return new Step(Expression.parse(expression).resolve(operands), stage.scalars());
    }
  }

  private final Job job;
  private final AcceleratorRate rate;
  private final ChunkScheduler chunks;
  private final Map<String, Object> arrays = new LinkedHashMap<>();
  private final Map<String, MemorySegment> segments = new LinkedHashMap<>();

  /** The arguments of each step's loop. */
  private final List<Object[]> taken = new ArrayList<>();

  /** Whether a chunk was computed. The time of the first one includes compilation. */
  private boolean warm;

  public ArrayWorker(Job job, AcceleratorRate rate, ChunkScheduler chunks) {
    this.job = job;
    this.rate = rate;
    this.chunks = chunks;
  }

  @Override
  public void run() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment block = reserve(arena);
      do {
        for (Range range = chunks.take(rate); range != null; range = chunks.take(rate)) {
          try {
            carry(range, block);
          } finally {
            chunks.ended(rate, range);
          }
        }
      } while (!chunks.leave(rate));
    } catch (Throwable e) {
      chunks.fail(e);
      chunks.leave(rate);
    }
  }

  /** Creates the arrays. Returns the block through which files are copied. */
  private MemorySegment reserve(Arena arena) {
    int length = Math.toIntExact(Math.max(rate.size(), ChunkPlan.SMALLEST_CHUNK));
    long widest = 0;
    for (Map.Entry<String, ElementType<?>> array : job.work.arrays().entrySet()) {
      Object made = CpuLoop.array(ScalarType.of(array.getValue()), length);
      arrays.put(array.getKey(), made);
      segments.put(array.getKey(), CpuLoop.segment(made));
      widest = Math.max(widest, array.getValue().byteSize());
    }
    for (Step step : job.steps) {
      taken.add(step.arrays.stream().map(arrays::get).toArray());
    }
    return arena.allocate(length * widest, BLOCK_ALIGNMENT);
  }

  /**
   * Uses plain loops: a chunk takes microseconds, and most are computed before this code is
   * compiled.
   */
  private void carry(Range range, MemorySegment block) {
    long start = System.nanoTime();
    for (Map.Entry<String, Source> source : job.work.sources().entrySet()) {
      read(range, source.getKey(), source.getValue(), block);
    }
    for (int i = 0; i < taken.size(); i++) {
      Step step = job.steps.get(i);
      step.loop.run(taken.get(i), step.uniforms, Math.toIntExact(range.count()));
    }
    for (Map.Entry<String, Sink> sink : job.work.sinks().entrySet()) {
      write(range, sink.getKey(), sink.getValue(), block);
    }
    job.work.written().accept(range);
    chunks.completed(rate, range.count(), warm ? System.nanoTime() - start : 0);
    warm = true;
  }

  private void read(Range range, String name, Source source, MemorySegment block) {
    long bytes = bytes(range, source.elementType());
    PositionalFile file = source.plainFile();
    if (file != null && file.makesCriticalCalls()) {
      source.read(range.from(), segment(name).asSlice(0, bytes));
    } else {
      MemorySegment part = block.asSlice(0, bytes);
      source.read(range.from(), part);
      MemorySegment.copy(part, 0, segment(name), 0, bytes);
    }
  }

  private void write(Range range, String name, Sink sink, MemorySegment block) {
    long bytes = bytes(range, sink.elementType());
    AtomicFile file = sink.file();
    if (file != null && file.makesCriticalCalls()) {
      sink.write(range.from(), segment(name).asSlice(0, bytes));
    } else if (file != null) {
      MemorySegment part = block.asSlice(0, bytes);
      MemorySegment.copy(segment(name), 0, part, 0, bytes);
      sink.write(range.from(), part);
    } else {
      sink.write(range.from(), segment(name).asSlice(0, bytes).asReadOnly());
    }
  }

  private MemorySegment segment(String name) {
    return PipelineWorker.known(segments.get(name), name);
  }

  private static long bytes(Range range, ElementType<?> type) {
    return range.count() * type.byteSize();
  }
}
