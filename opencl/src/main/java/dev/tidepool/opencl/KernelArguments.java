package dev.tidepool.opencl;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.KernelParameter.Access;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.support.Closing;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The arguments of one launch, bound to one kernel object by one thread.
 *
 * <p>Some bytes cannot be passed to a kernel by pointer: those of a buffer object at an offset that
 * the device's alignment forbids, and memory that only copies reach. These bytes are staged: copied
 * to a buffer of their own before the kernel, and back after it if the kernel writes them, in the
 * queue's order. Arguments with the same bytes share one stage. Closing releases the objects that
 * the binding created; OpenCL keeps them for running commands.
 */
final class KernelArguments implements AutoCloseable {
  private final Submission submission;
  private final DeviceProperties device;
  private final long kernel;
  private final Arena arena = Arena.ofConfined();
  private final List<AsBuffer> made = new ArrayList<>();
  private final Map<KernelArgument.Array, Stage> stages = new LinkedHashMap<>();

  /** A copy that replaces an argument's bytes. */
  private static final class Stage {
    final AsBuffer buffer;
    boolean filled;
    boolean written;

    Stage(AsBuffer buffer) {
      this.buffer = buffer;
    }
  }

  KernelArguments(Submission submission, DeviceProperties device, long kernel) {
    this.submission = submission;
    this.device = device;
    this.kernel = kernel;
  }

  /**
   * Sets an argument to the bytes themselves, if the device allows their start.
   *
   * @param alignment the address must be a multiple of this
   */
  void bindBytes(
      int index, KernelArgument.Array array, long alignment, Access access, boolean alone) {
    OpenClBlock block = block(array);
    if (!isAligned(block, array, alignment)) {
      bindStage(index, array, access);
      return;
    }
    switch (block) {
      case SharedPointerBlock pointer -> bindPointer(index, pointer, array);
      case BufferBlock buffer -> {
        boolean whole = array.offset() == 0 && (alone || array.bytes() == buffer.byteSize());
        if (whole || array.bytes() == 0) {
          bindBuffer(index, buffer.buffer());
        } else if (buffer.hasPartAt(array.offset(), device.baseAlignment())) {
          bindBuffer(index, part(buffer, array));
        } else {
          bindStage(index, array, access);
        }
      }
      case PinnedBlock pinned -> bindStage(index, array, access);
    }
  }

  /**
   * Sets two arguments: a buffer object that contains the bytes, or a pointer to them or to a copy;
   * and the number of elements before them.
   */
  void bindElements(int index, KernelArgument.Array array, int elementBytes, Access access) {
    OpenClBlock block = block(array);
    long before = 0;
    if (array.bytes() == 0 || !isAligned(block, array, elementBytes)) {
      bindStage(index, array, access);
    } else {
      switch (block) {
        case SharedPointerBlock pointer -> bindPointer(index, pointer, array);
        case BufferBlock buffer -> {
          bindBuffer(index, buffer.buffer());
          before = array.offset() / elementBytes;
        }
        case PinnedBlock _ -> bindStage(index, array, access);
      }
    }
    bindLong(index + 1, before);
  }

  /**
   * Returns whether bytes are aligned. A buffer object has no address, and its start suits every
   * element.
   */
  private static boolean isAligned(OpenClBlock block, KernelArgument.Array array, long alignment) {
    long start = block instanceof SharedPointerBlock pointer ? pointer.address() : 0;
    return (start + array.offset()) % alignment == 0;
  }

  private void bindPointer(int index, SharedPointerBlock pointer, KernelArgument.Array array) {
    pointer
        .svm()
        .clSetKernelArgSVMPointer(kernel, index, pointer.bytes(array.offset(), array.bytes()));
  }

  /** Sets an argument to a staged copy, which starts with the bytes. */
  private void bindStage(int index, KernelArgument.Array array, Access access) {
    if (array.bytes() == 0) {
      bindBuffer(index, keep(AsBuffer.fresh(submission.context(), 1)).buffer());
      return;
    }
    Stage stage =
        stages.computeIfAbsent(
            array, bytes -> new Stage(keep(AsBuffer.fresh(submission.context(), bytes.bytes()))));
    if (access.reads() && !stage.filled) {
      Copies.toBuffer(
          submission, block(array), array.offset(), stage.buffer.buffer(), array.bytes());
      stage.filled = true;
    }
    stage.written |= access.writes();
    bindBuffer(index, stage.buffer.buffer());
  }

  /** Sets an argument to a value of the given bytes. */
  void bindValue(int index, MemorySegment value) {
    OpenCL.clSetKernelArg(kernel, index, value);
  }

  void bindLong(int index, long value) {
    bindValue(index, arena.allocateFrom(JAVA_LONG, value));
  }

  void bindInt(int index, int value) {
    bindValue(index, arena.allocateFrom(JAVA_INT, value));
  }

  /** Sets an argument to local memory of each group. */
  void bindLocal(int index, long bytes) {
    OpenCL.clSetKernelArgLocal(kernel, index, bytes);
  }

  /** Returns the memory for values until the launch. */
  Arena scratch() {
    return arena;
  }

  void run(long[] global, long[] group) {
    submission.add(
        OpenCL.clEnqueueNDRangeKernel(
            submission.queue(), kernel, global, group, submission.waits()));
  }

  /** Enqueues, after the kernel, the copies of the stages that it wrote back to the arguments. */
  void copyBack() {
    stages.forEach(
        (array, stage) -> {
          if (stage.written) {
            Copies.fromBuffer(
                submission, stage.buffer.buffer(), block(array), array.offset(), array.bytes());
          }
        });
  }

  private long part(BufferBlock buffer, KernelArgument.Array array) {
    return keep(buffer.part(array.offset(), array.bytes())).buffer();
  }

  private AsBuffer keep(AsBuffer buffer) {
    made.add(buffer);
    return buffer;
  }

  private void bindBuffer(int index, long buffer) {
    OpenCL.clSetKernelArg(kernel, index, arena.allocateFrom(JAVA_LONG, buffer));
  }

  private OpenClBlock block(KernelArgument.Array array) {
    if (array.block() instanceof OpenClBlock block && block.context() == submission.context()) {
      block.requireLive();
      return block;
    }
    throw new IllegalArgumentException(
        "an argument's block of " + array.bytes() + " bytes is of another backend or context");
  }

  @Override
  public void close() {
    arena.close();
    made.forEach(buffer -> Closing.surviving("clReleaseMemObject", buffer));
  }
}
