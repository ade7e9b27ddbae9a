package dev.tidepool.expression.jvm;

import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.TypedProgram;
import dev.tidepool.host.system.TruncatedMapCheck;
import dev.tidepool.pool.ThreadStripe;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Runs generated code over arrays, block by block: copies a block of each input to Java arrays,
 * computes, and copies the outputs back. HotSpot vectorises loops over arrays, but not over memory
 * segments, and a block stays in the processor's first cache between the steps. A loop that memory
 * limits anyway can {@link #stream}: reads and writes then overlap, and nothing is copied.
 *
 * <p>A call owns its scratch from {@link #take} to {@link #giveBack}. Idle scratches are kept in
 * stripes that threads select by their id. Each stripe is a single slot that is emptied and filled
 * atomically.
 */
final class BlockLoop implements CpuLoop {
  /** Half of the smallest first cache in use; the rest is for the arrays that are copied. */
  private static final int SCRATCH_BYTES = 16 << 10;

  private static final int MIN_BLOCK = 256;
  private static final int MAX_BLOCK = 2048;

  private final TypedProgram program;
  private final LoopPlan plan;
  private final BlockBody body;
  private final long[] byteSizes;
  private final int[] inputs;
  private final int[] outputs;
  private final int block;

  /** Whether the code may work directly on the arrays of a program. */
  private final boolean inPlace;

  /** Code that works directly on memory, compiled on first use. Guarded by this. */
  private @Nullable StreamBody streamBody;

  private final AtomicReferenceArray<Scratch> idle;

  BlockLoop(TypedProgram program, LoopPlan plan, BlockBody body) {
    this.program = program;
    this.plan = plan;
    this.body = body;
    int arrays = program.arrays().size();
    byteSizes = new long[arrays];
    inputs = new int[arrays];
    outputs = new int[arrays];
    for (int i = 0; i < arrays; i++) {
      byteSizes[i] = program.arrays().get(i).type().byteSize();
      inputs[i] = plan.input(i);
      outputs[i] = plan.output(i);
    }
    inPlace = isOneLoop(plan) && !isAnyUpdated();
    int bytes = plan.slots().stream().mapToInt(ScalarType::byteSize).sum();
    block = Math.clamp(Integer.highestOneBit(SCRATCH_BYTES / bytes + 1), MIN_BLOCK, MAX_BLOCK);
    int stripes = Integer.highestOneBit(Runtime.getRuntime().availableProcessors()) * 4;
    idle = new AtomicReferenceArray<>(stripes);
  }

  private static boolean isOneLoop(LoopPlan plan) {
    return plan.pieces().size() == 1 && plan.pieces().getFirst() instanceof LoopPlan.Loop;
  }

  /**
   * Returns whether an array is both read and written: its new elements must not be read as old
   * ones.
   */
  private boolean isAnyUpdated() {
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] >= 0 && outputs[i] >= 0) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void run(Object[] arrays, long[] uniforms, int count) {
    if (inPlace) {
      Object[] slots = new Object[plan.slots().size()];
      for (int i = 0; i < arrays.length; i++) {
        int slot = Math.max(inputs[i], outputs[i]);
        if (slot >= 0) { // An array that no result needs has no slot.
          slots[slot] = arrays[i];
        }
      }
      body.compute(new Scratch(slots), uniforms, count);
      return;
    }
    Scratch scratch = take();
    try {
      for (int at = 0; at < count; at += block) {
        compute(arrays, uniforms, scratch, at, Math.min(block, count - at));
      }
    } finally {
      giveBack(scratch);
    }
  }

  private void compute(Object[] arrays, long[] uniforms, Scratch scratch, int at, int n) {
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] >= 0) {
        System.arraycopy(arrays[i], at, scratch.slots[inputs[i]], 0, n);
      }
    }
    body.compute(scratch, uniforms, n);
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] >= 0) {
        System.arraycopy(scratch.slots[outputs[i]], 0, arrays[i], at, n);
      }
    }
  }

  @Override
  public void stream(MemorySegment[] arrays, long[] uniforms, long from, long to) {
    if (plan.isStreaming()) {
      check(arrays, from, to);
      streamBody().compute(arrays, uniforms, from, to);
      TruncatedMapCheck.surface();
    } else {
      run(arrays, uniforms, from, to);
    }
  }

  private synchronized StreamBody streamBody() {
    if (streamBody == null) {
      streamBody = StreamCompiler.compile(program, plan);
    }
    return streamBody;
  }

  private void check(MemorySegment[] arrays, long from, long to) {
    if (arrays.length != byteSizes.length) {
      throw new IllegalArgumentException(
          arrays.length + " arrays were given, but the program has " + byteSizes.length);
    }
    if (from < 0 || to < from) {
      throw new IndexOutOfBoundsException("elements " + from + " to " + to);
    }
  }

  @Override
  public void run(MemorySegment[] arrays, long[] uniforms, long from, long to) {
    check(arrays, from, to);
    Scratch scratch = take();
    try {
      for (long at = from; at < to; at += block) {
        compute(arrays, uniforms, scratch, at, (int) Math.min(block, to - at));
      }
    } finally {
      giveBack(scratch);
    }
  }

  private void compute(MemorySegment[] arrays, long[] uniforms, Scratch scratch, long at, int n) {
    for (int i = 0; i < inputs.length; i++) {
      if (inputs[i] >= 0) {
        MemorySegment.copy(
            arrays[i], at * byteSizes[i], scratch.segments[inputs[i]], 0, n * byteSizes[i]);
      }
    }
    body.compute(scratch, uniforms, n);
    for (int i = 0; i < outputs.length; i++) {
      if (outputs[i] >= 0) {
        MemorySegment.copy(
            scratch.segments[outputs[i]], 0, arrays[i], at * byteSizes[i], n * byteSizes[i]);
      }
    }
  }

  private Scratch take() {
    Scratch scratch = idle.getAndSet(stripe(), null);
    return scratch != null ? scratch : new Scratch(plan.slots(), block);
  }

  private void giveBack(Scratch scratch) {
    idle.set(stripe(), scratch);
  }

  private int stripe() {
    return ThreadStripe.mine(idle.length());
  }
}
