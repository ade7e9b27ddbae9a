package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.KernelParameter.Access;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.support.Closing;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The arguments of one launch, in the order of the kernel's parameters. Used by one thread, with
 * the device's context current.
 *
 * <p>A device cannot read bytes that begin within an element. Such bytes are staged: copied to
 * memory of their own before the kernel, and back after it if the kernel writes them, in the
 * stream's order. Arguments with the same bytes share one stage.
 */
final class KernelArguments implements AutoCloseable {
  /** Bytes of the largest parameter that code may have, since CUDA 12.1. */
  static final long LARGEST_PARAMETER = 32764;

  // A kernel with more parameters than were declared reads zeros instead of arbitrary memory.
  private static final int UNDECLARED = 64;
  private static final MemorySegment ZEROS = Arena.global().allocate(LARGEST_PARAMETER, 16);
  // The values of most launches fit into one allocation.
  private static final long ROOM = 1024;

  private final CudaDevice device;
  private final long stream;
  private final Submission submission;
  private final long overread;
  private final Arena arena = Arena.ofConfined();
  private final MemorySegment room;
  private long used;
  private final List<MemorySegment> values = new ArrayList<>();
  private final Map<KernelArgument.Array, Stage> stages = new LinkedHashMap<>();

  /** A copy that replaces an argument's bytes. */
  private static final class Stage {
    final long address;
    boolean filled;
    boolean written;

    Stage(long address) {
      this.address = address;
    }
  }

  KernelArguments(CudaDevice device, long stream, Submission submission) {
    this(device, stream, submission, 0);
  }

  /**
   * Creates an empty list.
   *
   * @param overread how many bytes after a value the driver may also read: it reads as many as the
   *     code of the kernel declares
   */
  KernelArguments(CudaDevice device, long stream, Submission submission, long overread) {
    this.device = device;
    this.stream = stream;
    this.submission = submission;
    this.overread = overread;
    this.room = arena.allocate(ROOM + overread, 16);
  }

  /** Returns the memory for values until the launch. */
  SegmentAllocator scratch() {
    return this::allocate;
  }

  private MemorySegment allocate(long bytes, long alignment) {
    long from = (used + alignment - 1) & -alignment;
    if (alignment > room.maxByteAlignment() || from + bytes > ROOM) {
      return arena.allocate(bytes + overread, alignment).asSlice(0, bytes);
    }
    used = from + bytes;
    return room.asSlice(from, bytes);
  }

  void add(MemorySegment value) {
    values.add(value);
  }

  void addLong(long value) {
    values.add(scratch().allocateFrom(JAVA_LONG, value));
  }

  void addInt(int value) {
    values.add(scratch().allocateFrom(JAVA_INT, value));
  }

  /**
   * Adds the address of the bytes, or of a copy if the address is no multiple of an element's
   * alignment.
   */
  void addArray(KernelArgument.Array array, long alignment, Access access) {
    long address = address(array);
    boolean isInPlace = array.bytes() == 0 || address % alignment == 0;
    addLong(isInPlace ? address : stage(array, access));
  }

  private long stage(KernelArgument.Array array, Access access) {
    Stage stage =
        stages.computeIfAbsent(
            array, bytes -> new Stage(device.blocks().takeFor(stream, bytes.bytes())));
    if (access.reads() && !stage.filled) {
      long source = address(array);
      submission.add(() -> Cuda.cuMemcpyDtoDAsync(stage.address, source, array.bytes(), stream));
      stage.filled = true;
    }
    stage.written |= access.writes();
    return stage.address;
  }

  /** Runs the kernel, and copies back what it writes to stages. */
  void run(LoadedKernel kernel, long[] grid, long[] block, long sharedBytes) {
    // Separate from the values: a kernel must read zeros after them.
    SegmentAllocator apart = overread > 0 ? arena : scratch();
    MemorySegment parameters = apart.allocate(ADDRESS, values.size() + (long) UNDECLARED);
    for (int i = 0; i < values.size(); i++) {
      parameters.setAtIndex(ADDRESS, i, values.get(i));
    }
    for (int i = 0; i < UNDECLARED; i++) {
      parameters.setAtIndex(ADDRESS, values.size() + (long) i, ZEROS);
    }
    submission.add(
        () ->
            Cuda.cuLaunchKernel(
                kernel.function(), grid, block, Math.toIntExact(sharedBytes), stream, parameters));
    stages.forEach(
        (array, stage) -> {
          if (stage.written) {
            long target = address(array);
            submission.add(
                () -> Cuda.cuMemcpyDtoDAsync(target, stage.address, array.bytes(), stream));
          }
        });
  }

  private long address(KernelArgument.Array array) {
    if (array.block() instanceof CudaBlock block
        && (block.owner().context().handle() == device.context().handle()
            || block.kind() != BlockKind.DEVICE)) {
      return block.requireDevices().address() + array.offset();
    }
    throw new IllegalArgumentException(
        "an argument's block of " + array.bytes() + " bytes is of another device");
  }

  @Override
  public void close() {
    arena.close();
    stages
        .values()
        .forEach(
            stage -> Closing.surviving(() -> device.blocks().freeBehind(stream, stage.address)));
  }
}
