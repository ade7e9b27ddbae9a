package dev.tidepool.interop;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.HostHold;
import dev.tidepool.runtime.threads.StackReserve;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;

/**
 * A tensor of another library, as a buffer over {@link UnifiedMemoryManager#adopt adopted} memory,
 * without a copy. {@link #close()} closes the buffer. The tensor's deleter is called once, after
 * the last use of the buffer. The same happens when the manager closes, or when this object becomes
 * unreachable.
 *
 * <p>The elements of a buffer are contiguous. A tensor with other strides, or that is not aligned
 * to its elements, has no buffer: use {@link #copyTo} to copy it. Thread-safe.
 */
public final class DLPackTensor implements AutoCloseable {
  private static final long CHUNK = 1 << 20;

  private final UnifiedBuffer<?> memory;
  private final boolean adopted;
  private final DLPackType type;
  private final long[] shape;
  private final long[] strides;
  // The offset of the first element in bytes, in memory that is not adopted as elements.
  private final long first;
  private final boolean readOnly;
  private final boolean copied;

  private DLPackTensor(
      UnifiedBuffer<?> memory,
      boolean adopted,
      TensorStruct struct,
      long[] shape,
      long[] strides,
      long first) {
    this.memory = memory;
    this.adopted = adopted;
    this.type = struct.type();
    this.shape = shape;
    this.strides = strides;
    this.first = first;
    this.readOnly = struct.isReadOnly();
    this.copied = struct.isCopied();
  }

  static DLPackTensor open(UnifiedMemoryManager manager, long address, boolean versioned) {
    Objects.requireNonNull(manager, "manager");
    // A deleter that calls back into Java without enough stack would crash the virtual machine.
    StackReserve.checkForTwo();
    if (address <= 0 || address % 8 != 0) {
      throw new IllegalArgumentException(
          "no DLPack tensor is at 0x"
              + Long.toHexString(address)
              + "; give the address that the capsule or the producer returned");
    }
    TensorStruct struct = TensorStruct.at(address, versioned);
    checkLayout(struct);
    // DLPack allows a tensor without a deleter, whose memory needs no release.
    Runnable deleter =
        () -> ReleaseFunction.call(struct.deleter(), MemorySegment.ofAddress(struct.address()));
    try {
      checkVersion(struct);
      return open(manager, struct, deleter);
    } catch (ArithmeticException beyond) {
      deleter.run();
      throw new IllegalArgumentException(
          "the strides of the tensor reach further than an address does", beyond);
    } catch (RuntimeException | Error e) {
      deleter.run();
      throw e;
    }
  }

  /** Adopts the memory. If this throws, the caller must call the deleter. */
  private static DLPackTensor open(
      UnifiedMemoryManager manager, TensorStruct struct, Runnable deleter) {
    NativeKind kind = kind(struct);
    ElementType<?> elements = struct.type().elementType();
    long[] shape = shape(struct);
    long count = Shapes.count(shape);
    long[] strides = strides(struct, shape);
    long size = elements.byteSize();
    // The address of the first element, or its offset in a memory object.
    long start = (kind.isPointer() ? struct.data() : 0) + struct.byteOffset();
    boolean adopted =
        count == 0
            || (Shapes.isDense(shape, strides) && start % elements.layout().byteAlignment() == 0);
    long lowest = 0;
    NativeHandle memory;
    if (count == 0) {
      memory = new NativeHandle(kind, 0, 0, 0);
    } else if (adopted) {
      memory = memory(struct, kind, 0, elements.bytes(count));
    } else {
      lowest = Math.multiplyExact(Shapes.lowest(shape, strides), size);
      long highest = Math.multiplyExact(Shapes.highest(shape, strides), size);
      long bytes = Math.addExact(Math.subtractExact(highest, lowest), size);
      memory = memory(struct, kind, lowest, bytes);
    }
    ElementType<?> type = adopted ? elements : ElementType.BYTE;
    MapMode mode = struct.isReadOnly() ? MapMode.READ : MapMode.READ_WRITE;
    UnifiedBuffer<?> buffer = manager.adopt(type, memory, mode, deleter);
    return new DLPackTensor(buffer, adopted, struct, shape, strides, -lowest);
  }

  /** Returns the bytes that start at a distance from the tensor's first element. */
  private static NativeHandle memory(
      TensorStruct struct, NativeKind kind, long distance, long bytes) {
    long offset = struct.byteOffset() + distance;
    return kind.isPointer()
        ? new NativeHandle(kind, struct.data() + offset, 0, bytes)
        : new NativeHandle(kind, struct.data(), offset, bytes);
  }

  /**
   * Checks that the structure does not have the other layout, whose deleter is at another offset. A
   * version is two small numbers, which no address is.
   */
  private static void checkLayout(TensorStruct struct) {
    if (struct.isVersioned() != struct.beginsWithVersion()) {
      throw new IllegalArgumentException(
          struct.isVersioned()
              ? "the structure has no version, as a DLManagedTensor: open it by openUnversioned, or"
                  + " ask the producer for max_version=(1, 0)"
              : "the structure begins with a version, as a DLManagedTensorVersioned: open it by"
                  + " open");
    }
  }

  private static void checkVersion(TensorStruct struct) {
    if (struct.isVersioned() && struct.major() != TensorStruct.MAJOR) {
      throw new UnsupportedOperationException(
          "the tensor has DLPack version "
              + struct.major()
              + "."
              + struct.minor()
              + ", and this library reads version 1; ask the producer for max_version=(1, 0), or"
              + " open a DLManagedTensor by openUnversioned");
    }
  }

  private static NativeKind kind(TensorStruct struct) {
    NativeKind kind = DeviceTypes.kind(struct.deviceType());
    if (kind == null) {
      throw new UnsupportedOperationException(
          "the tensor is in the memory of DLPack device type "
              + struct.deviceType()
              + ", number "
              + struct.deviceNumber()
              + ", which no accelerator has; ask the producer for dl_device=(1, 0), or copy the"
              + " tensor to the host first");
    }
    return kind;
  }

  private static long[] shape(TensorStruct struct) {
    int dimensions = struct.dimensions();
    if (dimensions < 0) {
      throw new IllegalArgumentException("the tensor has " + dimensions + " dimensions");
    }
    long[] shape = dimensions == 0 ? new long[0] : struct.shape();
    if (shape == null) {
      throw new IllegalArgumentException(
          "the tensor has " + dimensions + " dimensions, but no shape");
    }
    return shape;
  }

  private static long[] strides(TensorStruct struct, long[] shape) {
    long[] strides = shape.length == 0 ? new long[0] : struct.strides();
    return strides == null ? Shapes.rowMajor(shape) : strides;
  }

  /** Returns the size of each dimension; empty for a single number. */
  public long[] shape() {
    return shape.clone();
  }

  /** Returns the distance from one element to the next in each dimension, in elements. */
  public long[] strides() {
    return strides.clone();
  }

  /** Returns the type of the elements. */
  public DLPackType type() {
    return type;
  }

  /** Returns whether the producer forbids writes. The buffer then rejects them. */
  public boolean isReadOnly() {
    return readOnly;
  }

  /** Returns whether the producer reports that the tensor is a copy. */
  public boolean isCopied() {
    return copied;
  }

  /**
   * Returns whether {@link #buffer()} returns the tensor's memory; otherwise {@link #copyTo} copies
   * it.
   */
  public boolean isAdopted() {
    return adopted;
  }

  /** Returns whether the elements are in row-major order: the last dimension varies fastest. */
  public boolean isRowMajor() {
    return Shapes.isRowMajor(shape, strides);
  }

  /**
   * Returns the tensor's memory as a HOST buffer, or as a DEVICE buffer if it is on a device. The
   * elements are in memory order, which {@link #strides()} describes.
   *
   * @throws UnsupportedOperationException if the elements are not contiguous, or not aligned
   */
  public UnifiedBuffer<?> buffer() {
    if (!adopted) {
      throw new UnsupportedOperationException(
          "a tensor of shape "
              + Arrays.toString(shape)
              + " with strides "
              + Arrays.toString(strides)
              + (Shapes.isDense(shape, strides) ? " that is not aligned to its elements" : "")
              + " is not a buffer; copy it by copyTo(buffer)");
    }
    return memory;
  }

  /**
   * Like {@link #buffer()}, with an element type.
   *
   * @throws IllegalArgumentException if the elements have another type
   * @throws UnsupportedOperationException as {@link #buffer()} does
   */
  @SuppressWarnings("unchecked") // what is checked first
  public <A> UnifiedBuffer<A> buffer(ElementType<A> elements) {
    UnifiedBuffer<?> found = buffer();
    if (!type.elementType().equals(elements)) {
      throw new IllegalArgumentException(
          "the tensor has elements of type "
              + type
              + ", in a buffer of "
              + type.elementType()
              + ", not of "
              + elements
              + "; take that, or view it by as(...)");
    }
    return (UnifiedBuffer<A>) found;
  }

  /**
   * Copies the tensor to a buffer of any manager, in row-major order, independent of its strides.
   *
   * @throws IllegalArgumentException if the buffer has another number of elements, or elements of
   *     another size
   */
  public void copyTo(UnifiedBuffer<?> destination) {
    long size = type.byteSize();
    Shapes.checkCount(shape, destination.length());
    if (destination.elementType().byteSize() != size) {
      throw new IllegalArgumentException(
          "elements of type "
              + type
              + " have "
              + size
              + " bytes, and those of "
              + destination
              + " have "
              + destination.elementType().byteSize());
    }
    if (adopted && isRowMajor()) {
      // A copy on one device need not pass through the host.
      destination.as(ElementType.BYTE).copyFrom(memory.as(ElementType.BYTE));
      return;
    }
    // A close on another thread must not free the memory during the copy.
    HostHold hold = HostHold.of(memory, false);
    try {
      if (isRowMajor()) {
        destination.copyFrom(hold.bytes(), 0);
      } else {
        gather(hold.bytes(), destination, size);
      }
    } finally {
      hold.end();
    }
  }

  /** Copies in row-major order, a block at a time. */
  private void gather(MemorySegment source, UnifiedBuffer<?> destination, long size) {
    long count = destination.length();
    long chunk = Math.min(count, CHUNK / size);
    MemorySegment block = NativeHeap.allocate(chunk * size);
    try {
      long[] index = new long[shape.length];
      for (long done = 0; done < count; done += chunk) {
        long now = Math.min(chunk, count - done);
        gather(source, index, block, now, size);
        destination.copyFrom(block.asSlice(0, now * size), done);
      }
    } finally {
      NativeHeap.free(block);
    }
  }

  /** Copies the next elements, starting at an index, and advances the index. */
  private void gather(
      MemorySegment source, long[] index, MemorySegment block, long elements, long size) {
    long at = first;
    for (int i = 0; i < index.length; i++) {
      at += index[i] * strides[i] * size;
    }
    for (long done = 0; done < elements; done++) {
      MemorySegment.copy(source, at, block, done * size, size);
      for (int i = index.length - 1; i >= 0; i--) {
        at += strides[i] * size;
        if (++index[i] < shape[i]) {
          break;
        }
        at -= shape[i] * strides[i] * size;
        index[i] = 0;
      }
    }
  }

  /**
   * Closes the buffer. The tensor's deleter is called after the last use of the buffer. Idempotent.
   *
   * @throws dev.tidepool.TransferException as {@link UnifiedBuffer#close()} does
   */
  @Override
  public void close() {
    memory.close();
  }

  @Override
  public String toString() {
    return type + Arrays.toString(shape) + " of DLPack";
  }
}
