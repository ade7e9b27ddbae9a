package dev.tidepool.interop;

import dev.tidepool.MapMode;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.HostHold;
import java.util.Arrays;
import java.util.Objects;

/**
 * Tensors for other libraries, and from them, by <a
 * href="https://dmlc.github.io/dlpack">DLPack</a>: the structure by which NumPy, PyTorch, JAX,
 * CuPy, TVM and others exchange tensors without copies.
 *
 * {@snippet :
 * DLPackExport matrix = DLPack.export(whole, 20, 30);
 * library.take(matrix.handOver()); // calls the deleter when it is done
 *
 * try (DLPackTensor tensor = DLPack.open(memory, library.tensor())) {
 *   tensor.buffer(ElementType.FLOAT).fill((byte) 0);
 * } // calls the deleter of the library
 * }
 *
 * <p><b>Exports.</b> An export is for its consumer what {@link UnifiedBuffer#asSegment()} is for
 * Java code, of the host's copy or the device's. The bytes are the newest when it is made, and all
 * work that was asked for before has ended. The export then counts as a write of that copy, and a
 * {@linkplain #exportReadOnly read-only} one as a read. The buffer may be used meanwhile, and sees
 * what the consumer has written until then. To see what a consumer writes later, after the other
 * copy was used, {@linkplain UnifiedMemoryManager#lend lend} the buffer for writing: as a
 * HOST_POINTER for the host's copy. After work on the other side, {@link
 * UnifiedBuffer#synchronize()} shows the results to the consumer. The exported copy stays where it
 * is. The memory stays until the consumer calls the deleter, even if the buffer or the manager is
 * closed before. {@linkplain UnifiedMemoryManager#wrap Wrapped} memory of a caller stays as long as
 * the caller keeps it. What a consumer writes to the host's copy of {@linkplain
 * UnifiedMemoryManager#adopt adopted} memory of a device is brought there when the deleter is
 * called, before that memory is released, even if the buffer was closed before.
 *
 * <p><b>Versions.</b> Since 2024 DLPack has a structure with a version, which marks read-only
 * tensors; Python passes it in capsules named {@code dltensor_versioned}. The older structure is
 * for consumers that ask for capsules named {@code dltensor}, as NumPy does before 2.1. The address
 * of a structure does not tell which of the two it is.
 *
 * <p>Thread-safe.
 */
public final class DLPack {
  private DLPack() {}

  /**
   * Exports the memory that the buffer's accelerator computes in, in row-major order: the host's,
   * for an accelerator that shares it, such as the CPU; else the device's copy, which is made and
   * brought up to date if necessary. A tensor on an OpenCL device has the {@code cl_mem} as its
   * data, and a slice has its place in there as the byte offset. A tensor on a CUDA device has the
   * driver's number of the device, which also counts devices that were left out here.
   *
   * @param shape the size of each dimension; none for one dimension of all elements
   * @throws IllegalArgumentException if the shape has not as many elements as the buffer, or the
   *     elements are records
   * @throws IllegalStateException if the buffer is closed, or on the device also if it is mapped or
   *     lent
   * @throws UnsupportedOperationException if the buffer may only be read (use {@link
   *     #exportReadOnly}), or DLPack knows no such device
   */
  public static DLPackExport export(UnifiedBuffer<?> buffer, long... shape) {
    return make(buffer, shape, true, true, HostHold.isOnHost(buffer));
  }

  /**
   * Like {@link #export}, as a tensor that its consumer must not write. Only consumers that look at
   * the flag comply.
   */
  public static DLPackExport exportReadOnly(UnifiedBuffer<?> buffer, long... shape) {
    return make(buffer, shape, true, false, HostHold.isOnHost(buffer));
  }

  /** Like {@link #export}, as the older structure, for consumers that know no version. */
  public static DLPackExport exportUnversioned(UnifiedBuffer<?> buffer, long... shape) {
    return make(buffer, shape, false, true, HostHold.isOnHost(buffer));
  }

  /**
   * Exports the host's copy of a buffer on any accelerator; it is made and fetched if necessary.
   *
   * @throws IllegalArgumentException as {@link #export} does
   * @throws UnsupportedOperationException if the buffer may only be read, or has no host view
   */
  public static DLPackExport exportHost(UnifiedBuffer<?> buffer, long... shape) {
    return make(buffer, shape, true, true, true);
  }

  /** Like {@link #exportHost}, as the older structure. */
  public static DLPackExport exportHostUnversioned(UnifiedBuffer<?> buffer, long... shape) {
    return make(buffer, shape, false, true, true);
  }

  private static DLPackExport make(
      UnifiedBuffer<?> buffer, long[] asked, boolean versioned, boolean writing, boolean onHost) {
    Objects.requireNonNull(buffer, "buffer");
    DLPackType type = DLPackType.of(buffer.elementType());
    long[] shape = asked.length == 0 ? new long[] {buffer.length()} : asked.clone();
    Shapes.checkCount(shape, buffer.length());
    ExportedMemory memory = ExportedMemory.of(buffer, writing, onHost, false);
    try {
      TensorStruct struct = TensorStruct.allocate(versioned, shape.length);
      // An address has the offset added: some consumers do not do that.
      struct.data(memory.data());
      struct.byteOffset(memory.offset());
      struct.device(memory.deviceType(), memory.deviceNumber());
      struct.type(type);
      struct.shape(shape, Shapes.rowMajor(shape));
      if (!writing) {
        struct.flags(TensorStruct.READ_ONLY);
      }
      return DLPackExport.begin(struct, memory);
    } catch (RuntimeException | Error e) {
      memory.end();
      throw e;
    }
  }

  /**
   * Opens a tensor of version 1, which is in the memory of the host or of the manager's device.
   * What the producer does with a tensor of a device must have ended. This takes the tensor from
   * its producer: whether it returns or throws, the tensor's deleter is called, once. So a Python
   * capsule must not call it too: rename the capsule first, to {@code used_dltensor_versioned}. If
   * the thread has too little stack to begin, this throws a {@link StackOverflowError}, and the
   * tensor stays the producer's.
   *
   * @param address of a {@code DLManagedTensorVersioned}
   * @throws IllegalArgumentException if the address is invalid, or that of the other structure, in
   *     which cases no deleter is called; or if the tensor contradicts itself, or is in the memory
   *     of another device or context
   * @throws UnsupportedOperationException if the tensor has another major version, is in memory of
   *     a kind that no accelerator has, or has elements that no buffer has
   */
  public static DLPackTensor open(UnifiedMemoryManager manager, long address) {
    return DLPackTensor.open(manager, address, true);
  }

  /**
   * Like {@link #open}, of the older structure. Rename a Python capsule to {@code used_dltensor}
   * first.
   *
   * @param address of a {@code DLManagedTensor}
   */
  public static DLPackTensor openUnversioned(UnifiedMemoryManager manager, long address) {
    return DLPackTensor.open(manager, address, false);
  }

  static MapMode mode(TensorStruct struct) {
    return (struct.flags() & TensorStruct.READ_ONLY) == 0 ? MapMode.READ_WRITE : MapMode.READ;
  }

  static String text(long[] shape) {
    return Arrays.toString(shape);
  }
}
