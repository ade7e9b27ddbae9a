package dev.tidepool.cli;

import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * The exercises of the tutorial on memory, as rows of {@code tidepool bench}: the size of a pool;
 * regular, pinned and asynchronous transfers; structs of arrays against arrays of structs; aligned
 * against unaligned memory.
 */
final class ExerciseFigures {
  private static final String NO_DIFFERENCE =
      "this device reads at any place as fast; the rest is noise";

  private static final int BUFFERS = 16;
  private static final int BUFFER_BYTES = 256 << 10;
  private static final int[] POOLED_BUFFERS = {2, 8, 16};
  private static final int BATCHES = 4;

  /** Floats of one particle: a position and a velocity. */
  private static final int PARTICLE = 6;

  /** Particles of one item of the Java kernel, where an item is a call. */
  private static final int PARTICLES_PER_ITEM = 1024;

  /** Elements by which unaligned memory is shifted. */
  private static final int SHIFT = 1;

  private final UnifiedMemoryManager memory;
  private final int elements;
  private final QuickFigures table;
  private final boolean sharesMemory;

  /**
   * @param elements the elements of the largest buffer
   * @param table receives the rows
   */
  ExerciseFigures(UnifiedMemoryManager memory, int elements, QuickFigures table) {
    this.memory = memory;
    this.elements = elements;
    this.table = table;
    this.sharesMemory = memory.accelerator().capabilities().contains(Capability.SHARED_MEMORY);
  }

  void run() {
    poolSizes();
    transfers();
    layouts();
    alignment();
  }

  private void poolSizes() {
    table.head("pool sizes, " + BUFFERS + " x " + Figures.bytes(BUFFER_BYTES));
    MemoryOptions unpooled = MemoryOptions.builder().pooling(false).build();
    try (UnifiedMemoryManager none = UnifiedMemoryManager.create(memory.accelerator(), unpooled)) {
      for (int buffers : POOLED_BUFFERS) {
        MemoryOptions options =
            MemoryOptions.builder().maxPoolBytes((long) buffers * BUFFER_BYTES).build();
        try (UnifiedMemoryManager pooled =
            UnifiedMemoryManager.create(memory.accelerator(), options)) {
          table.row(
              "room for " + buffers + ", " + hits(pooled) + "% are hits",
              () -> allocateAll(pooled),
              "no pool",
              () -> allocateAll(none),
              "what the pool does not keep comes from the system all the same");
        }
      }
    }
  }

  /** Returns the percentage of blocks that a filled pool serves. */
  private static long hits(UnifiedMemoryManager manager) {
    allocateAll(manager);
    MemoryStatistics before = manager.statistics();
    allocateAll(manager);
    return Math.round(100.0 * (manager.statistics().poolHits() - before.poolHits()) / BUFFERS);
  }

  /** Allocates all buffers, then closes them. */
  private static void allocateAll(UnifiedMemoryManager manager) {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    for (int i = 0; i < BUFFERS; i++) {
      buffers.add(manager.allocate(ElementType.BYTE, BUFFER_BYTES));
    }
    buffers.forEach(UnifiedBuffer::close);
  }

  private void transfers() {
    int batch = elements / BATCHES;
    table.head(BATCHES + " batches of " + Figures.bytes((long) batch * Float.BYTES));
    Kernel kernel = memory.compile(KernelSource.elementwise("x = x*x + 1"));
    try (UnifiedBuffer<float[]> pinned = filled(MemoryLocation.PINNED);
        UnifiedBuffer<float[]> plain = filled(MemoryLocation.HOST);
        UnifiedBuffer<float[]> one = memory.allocate(ElementType.FLOAT, batch);
        UnifiedBuffer<float[]> other = memory.allocate(ElementType.FLOAT, batch)) {
      table.row(
          "pinned, each after the other",
          () -> inTurn(pinned, one, kernel),
          "regular",
          () -> inTurn(plain, one, kernel),
          QuickFigures.slowerPinned(sharesMemory));
      table.row(
          "pinned, asynchronous",
          () -> overlapped(pinned, List.of(one, other), kernel),
          "regular",
          () -> inTurn(plain, one, kernel),
          "copies and kernels share the processors, so they hardly overlap");
    }
  }

  private UnifiedBuffer<float[]> filled(MemoryLocation location) {
    UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, elements, location);
    buffer.fill((byte) 0);
    return buffer;
  }

  private static void inTurn(
      UnifiedBuffer<float[]> from, UnifiedBuffer<float[]> device, Kernel kernel) {
    for (int i = 0; i < BATCHES; i++) {
      device.copyFrom(from.slice(i * device.length(), device.length()));
      kernel.execute(Arguments.of("x", device));
    }
  }

  /** Copies each batch while the kernel computes the one before it. */
  private static void overlapped(
      UnifiedBuffer<float[]> from, List<UnifiedBuffer<float[]>> devices, Kernel kernel) {
    List<CompletableFuture<Void>> done = new ArrayList<>();
    for (int i = 0; i < BATCHES; i++) {
      UnifiedBuffer<float[]> device = devices.get(i % devices.size());
      done.add(device.copyFromAsync(from.slice(i * device.length(), device.length())));
      done.add(kernel.executeAsync(Arguments.of("x", device)));
    }
    done.forEach(CompletableFuture::join);
  }

  private void layouts() {
    int count = Math.max(1, elements / 8 / PARTICLES_PER_ITEM) * PARTICLES_PER_ITEM;
    table.head("layout of " + Figures.count(count, "particle"));
    Kernel arrays =
        memory.compile(KernelSource.elementwise("x = x + vx*dt; y = y + vy*dt; z = z + vz*dt"));
    Structs structs = structs(count);
    Kernel moved;
    try {
      moved = memory.compile(structs.source());
    } catch (UnsupportedOperationException noCompiler) {
      table.absent("struct of arrays", noCompiler);
      return;
    }
    float[] component = new float[count];
    try (UnifiedBuffer<float[]> x = memory.copyOf(component);
        UnifiedBuffer<float[]> y = memory.copyOf(component);
        UnifiedBuffer<float[]> z = memory.copyOf(component);
        UnifiedBuffer<float[]> vx = memory.copyOf(component);
        UnifiedBuffer<float[]> vy = memory.copyOf(component);
        UnifiedBuffer<float[]> vz = memory.copyOf(component);
        UnifiedBuffer<float[]> particles = memory.copyOf(new float[count * PARTICLE])) {
      Arguments components =
          Arguments.of("x", x, "y", y, "z", z, "vx", vx, "vy", vy, "vz", vz, "dt", 0.01f);
      Arguments all = Arguments.of("p", particles, "dt", 0.01f);
      table.row(
          "struct of arrays",
          () -> arrays.execute(components),
          "of structs",
          () -> moved.execute(all, structs.range()),
          "six streams of memory, where structs are one");
    }
  }

  /** A kernel over an array of structs, and its launch range. */
  private record Structs(KernelSource source, LaunchRange range) {}

  /** Returns the kernel in the language of the accelerator, because expressions have no stride. */
  private Structs structs(long count) {
    KernelParameter[] parameters = {
      KernelParameter.inout("p", ElementType.FLOAT), KernelParameter.scalar("dt", ElementType.FLOAT)
    };
    String body = "p[i] += p[i + 3] * dt; p[i + 1] += p[i + 4] * dt; p[i + 2] += p[i + 5] * dt; }";
    Set<Capability> capabilities = memory.accelerator().capabilities();
    if (capabilities.contains(Capability.OPENCL_KERNELS)) {
      String head =
          "kernel void step(global float* p, float dt) { size_t i = get_global_id(0) * 6;";
      return new Structs(
          KernelSource.opencl(head + body, "step", parameters), LaunchRange.of(count));
    }
    if (capabilities.contains(Capability.CUDA_KERNELS)) {
      String head =
          "extern \"C\" __global__ void step(float* p, float dt)"
              + " { size_t i = ((size_t) blockIdx.x * blockDim.x + threadIdx.x) * 6;";
      return new Structs(KernelSource.cuda(head + body, "step", parameters), LaunchRange.of(count));
    }
    if (capabilities.contains(Capability.METAL_KERNELS)) {
      String head =
          "kernel void step(device float* p [[buffer(0)]], constant float& dt [[buffer(1)]],"
              + " uint item [[thread_position_in_grid]]) { ulong i = (ulong) item * 6;";
      return new Structs(
          KernelSource.metal(head + body, "step", parameters), LaunchRange.of(count));
    }
    return new Structs(
        KernelSource.java(ExerciseFigures::move, parameters),
        LaunchRange.of(count / PARTICLES_PER_ITEM));
  }

  private static void move(WorkItem item) {
    MemorySegment p = item.array(0);
    float dt = (float) item.scalar(1);
    long first = item.globalId(0) * PARTICLES_PER_ITEM * PARTICLE;
    for (long i = first; i < first + PARTICLES_PER_ITEM * PARTICLE; i += PARTICLE) {
      for (long axis = i; axis < i + 3; axis++) {
        float velocity = p.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, axis + 3);
        float position = p.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, axis);
        p.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, axis, position + velocity * dt);
      }
    }
  }

  private void alignment() {
    long count = (long) elements - SHIFT;
    table.head("alignment of " + Figures.bytes(count * Float.BYTES));
    Kernel kernel = memory.compile(KernelSource.elementwise("y = 0.5*x + y"));
    try (UnifiedBuffer<float[]> x = filled(MemoryLocation.DEVICE);
        UnifiedBuffer<float[]> y = filled(MemoryLocation.DEVICE);
        Arena arena = Arena.ofShared()) {
      Arguments aligned = Arguments.of("x", x.slice(0, count), "y", y.slice(0, count));
      Arguments shifted = Arguments.of("x", x.slice(SHIFT, count), "y", y.slice(0, count));
      table.row(
          "kernel over aligned arrays",
          () -> kernel.execute(aligned),
          "shifted",
          () -> kernel.execute(shifted),
          NO_DIFFERENCE);
      long bytes = count * Float.BYTES;
      MemorySegment host = arena.allocate(bytes + 1, 4096).fill((byte) 0);
      table.row(
          "copy to aligned host memory",
          () -> x.copyTo(0, host.asSlice(0, bytes)),
          "1 byte off",
          () -> x.copyTo(0, host.asSlice(1, bytes)),
          NO_DIFFERENCE);
    }
  }
}
