package dev.tidepool.interop;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.HostHold;
import java.util.Objects;

/**
 * Exchanges tensors with other libraries by <a href="https://dmlc.github.io/dlpack">DLPack</a>: the
 * structure that NumPy, PyTorch, JAX, CuPy, TVM and others use to exchange tensors without copies.
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
 * <p><b>Exports.</b> An export gives a consumer access to one copy of a buffer, the host's or the
 * device's, as {@link UnifiedBuffer#asSegment()} does for Java code. The call waits for earlier
 * operations, and the copy then has the newest bytes. It counts as a write of that copy, and a
 * {@linkplain #exportReadOnly read-only} export as a read. The buffer may be used meanwhile, and
 * sees what the consumer has written until then. To see later writes of the consumer, after the
 * other copy was used, {@linkplain UnifiedMemoryManager#lend lend} the buffer for writing: as a
 * HOST_POINTER for the host's copy. After operations on the other copy, {@link
 * UnifiedBuffer#synchronize()} makes the results visible to the consumer.
 *
 * <p>The exported copy does not move. The memory stays valid until the consumer calls the deleter,
 * even if the buffer or the manager is closed before. {@linkplain UnifiedMemoryManager#wrap
 * Wrapped} memory stays valid as long as its owner keeps it. If a consumer writes to the host's
 * copy of {@linkplain UnifiedMemoryManager#adopt adopted} memory of a device, the bytes are copied
 * back when the deleter is called, before that memory is released, even if the buffer was closed
 * before.
 *
 * <p><b>Versions.</b> Since 2024 DLPack has a structure with a version, which can mark tensors as
 * read-only; Python passes it in capsules named {@code dltensor_versioned}. The older structure is
 * for consumers that use capsules named {@code dltensor}, such as NumPy before 2.1. The address of
 * a structure does not show which of the two it is.
 *
 * <p>Thread-safe.
 */
public final class DLPack {
  private DLPack() {}

  /**
   * Exports the memory that the buffer's accelerator computes in, in row-major order. For an
   * accelerator that shares the host's memory, such as the CPU, this is the host's copy; otherwise
   * it is the device's copy, which is created and updated if necessary. A tensor on an OpenCL
   * device has the {@code cl_mem} as its data, and the offset of a slice as its byte offset. A
   * tensor on a CUDA device has the driver's number of the device, which may differ from
   * Tidepool's.
   *
   * @param shape the size of each dimension; empty for one dimension with all elements
   * @throws IllegalArgumentException if the shape and the buffer have different numbers of
   *     elements, or the elements are records
   * @throws IllegalStateException if the buffer is closed, or if it is exported from a device and
   *     is mapped or lent
   * @throws UnsupportedOperationException if the buffer is read-only (use {@link #exportReadOnly}),
   *     or DLPack does not support the kind of device
   */
  public static DLPackExport export(UnifiedBuffer<?> buffer, long... shape) {
    return make(buffer, shape, true, true, HostHold.isOnHost(buffer));
  }

  /**
   * Like {@link #export}, as a tensor that its consumer must not write. Only consumers that check
   * the flag comply.
   */
  public static DLPackExport exportReadOnly(UnifiedBuffer<?> buffer, long... shape) {
    return make(buffer, shape, true, false, HostHold.isOnHost(buffer));
  }

  /** Like {@link #export}, in the older structure, for consumers that do not support versions. */
  public static DLPackExport exportUnversioned(UnifiedBuffer<?> buffer, long... shape) {
    return make(buffer, shape, false, true, HostHold.isOnHost(buffer));
  }

  /**
   * Exports the host's copy of a buffer on any accelerator. The copy is created and updated if
   * necessary.
   *
   * @throws IllegalArgumentException as {@link #export} does
   * @throws UnsupportedOperationException if the buffer is read-only, or has no host copy
   */
  public static DLPackExport exportHost(UnifiedBuffer<?> buffer, long... shape) {
    return make(buffer, shape, true, true, true);
  }

  /** Like {@link #exportHost}, in the older structure. */
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
      // The offset is added to an address, because some consumers do not add it.
      struct.data(memory.data());
      struct.byteOffset(memory.offset());
      struct.device(memory.deviceType(), memory.deviceNumber());
      struct.type(type);
      struct.shape(shape, Shapes.rowMajor(shape));
      if (!writing) {
        struct.markReadOnly();
      }
      return DLPackExport.begin(struct, memory);
    } catch (RuntimeException | Error e) {
      memory.end();
      throw e;
    }
  }

  /**
   * Opens a tensor of version 1 in the memory of the host or of the manager's device. The
   * producer's work on a tensor of a device must have ended. This method takes ownership of the
   * tensor: the library calls the tensor's deleter once, also if this method throws. A Python
   * capsule must not call the deleter too: rename the capsule first, to {@code
   * used_dltensor_versioned}. If the thread has too little stack to start, this method throws
   * {@link StackOverflowError}, and the producer still owns the tensor.
   *
   * @param address the address of a {@code DLManagedTensorVersioned}
   * @throws IllegalArgumentException if the address is invalid, or is that of the other structure;
   *     in these cases no deleter is called. Also if the tensor is inconsistent, or is in the
   *     memory of another device or context
   * @throws UnsupportedOperationException if the tensor has another major version, is in memory of
   *     a kind that no accelerator has, or has elements that no buffer can have
   */
  public static DLPackTensor open(UnifiedMemoryManager manager, long address) {
    return DLPackTensor.open(manager, address, true);
  }

  /**
   * Like {@link #open}, for the older structure. Rename a Python capsule to {@code used_dltensor}
   * first.
   *
   * @param address the address of a {@code DLManagedTensor}
   */
  public static DLPackTensor openUnversioned(UnifiedMemoryManager manager, long address) {
    return DLPackTensor.open(manager, address, false);
  }
}
