package dev.tidepool.interop;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The memory layouts of DLPack's two structures on 64-bit systems: {@code DLManagedTensorVersioned}
 * of version 1, and {@code DLManagedTensor}, which is older and has no version.
 *
 * <pre>
 *                  versioned   unversioned
 * version              0            -       two 32-bit numbers
 * manager_ctx          8           48
 * deleter             16           56
 * flags               24            -
 * dl_tensor           32            0       48 bytes, see below
 * size                80           64
 *
 * in dl_tensor:  data 0, device type 8, device number 12, ndim 16, type's code 20, bits 21,
 *                lanes 22, shape 24, strides 32, byte_offset 40
 * </pre>
 */
final class TensorStruct {
  static final int MAJOR = 1;
  static final int MINOR = 0;
  private static final int MOST_VERSIONS = 1_000;
  static final int VERSIONED_BYTES = 80;
  static final int UNVERSIONED_BYTES = 64;

  /** Flags of a versioned tensor. */
  private static final long READ_ONLY = 1;

  private static final long COPIED = 2;

  private final MemorySegment struct;
  private final boolean versioned;
  private final int tensor;

  private TensorStruct(MemorySegment struct, boolean versioned) {
    this.struct = struct;
    this.versioned = versioned;
    this.tensor = versioned ? 32 : 0;
  }

  /** Returns the structure at an address, which another library filled. */
  static TensorStruct at(long address, boolean versioned) {
    return new TensorStruct(
        MemorySegment.ofAddress(address)
            .reinterpret(versioned ? VERSIONED_BYTES : UNVERSIONED_BYTES),
        versioned);
  }

  /** Allocates a structure of zeros, followed by space for shape and strides. */
  static TensorStruct allocate(boolean versioned, int dimensions) {
    int size = versioned ? VERSIONED_BYTES : UNVERSIONED_BYTES;
    MemorySegment struct = NativeHeap.allocate(size + 16L * dimensions);
    TensorStruct made = new TensorStruct(struct, versioned);
    if (versioned) {
      struct.set(JAVA_INT, 0, MAJOR);
      struct.set(JAVA_INT, 4, MINOR);
    }
    struct.set(JAVA_INT, made.tensor + 16, dimensions);
    struct.set(JAVA_LONG, made.tensor + 24, struct.address() + size);
    struct.set(JAVA_LONG, made.tensor + 32, struct.address() + size + 8L * dimensions);
    return made;
  }

  void free() {
    NativeHeap.free(struct);
  }

  long address() {
    return struct.address();
  }

  boolean isVersioned() {
    return versioned;
  }

  /** Returns whether the first 8 bytes are a version, not an address of data. */
  boolean beginsWithVersion() {
    int first = struct.get(JAVA_INT, 0);
    int second = struct.get(JAVA_INT, 4);
    return first > 0 && first < MOST_VERSIONS && second >= 0 && second < MOST_VERSIONS;
  }

  int major() {
    return versioned ? struct.get(JAVA_INT, 0) : 0;
  }

  int minor() {
    return versioned ? struct.get(JAVA_INT, 4) : 0;
  }

  boolean isReadOnly() {
    return (flags() & READ_ONLY) != 0;
  }

  boolean isCopied() {
    return (flags() & COPIED) != 0;
  }

  private long flags() {
    return versioned ? struct.get(JAVA_LONG, 24) : 0;
  }

  /** Marks a new versioned structure. */
  void markReadOnly() {
    struct.set(JAVA_LONG, 24, READ_ONLY);
  }

  MemorySegment deleter() {
    return struct.get(ADDRESS, versioned ? 16 : 56);
  }

  void deleter(MemorySegment function) {
    struct.set(ADDRESS, versioned ? 16 : 56, function);
  }

  long data() {
    return struct.get(JAVA_LONG, tensor);
  }

  void data(long address) {
    struct.set(JAVA_LONG, tensor, address);
  }

  int deviceType() {
    return struct.get(JAVA_INT, tensor + 8);
  }

  int deviceNumber() {
    return struct.get(JAVA_INT, tensor + 12);
  }

  void device(int type, int number) {
    struct.set(JAVA_INT, tensor + 8, type);
    struct.set(JAVA_INT, tensor + 12, number);
  }

  int dimensions() {
    return struct.get(JAVA_INT, tensor + 16);
  }

  DLPackType type() {
    return new DLPackType(
        Byte.toUnsignedInt(struct.get(JAVA_BYTE, tensor + 20)),
        Byte.toUnsignedInt(struct.get(JAVA_BYTE, tensor + 21)),
        Short.toUnsignedInt(struct.get(JAVA_SHORT, tensor + 22)));
  }

  void type(DLPackType type) {
    struct.set(JAVA_BYTE, tensor + 20, (byte) type.code());
    struct.set(JAVA_BYTE, tensor + 21, (byte) type.bits());
    struct.set(JAVA_SHORT, tensor + 22, (short) type.lanes());
  }

  /** Returns the numbers at {@code shape}; null if the pointer is null. */
  long @Nullable [] shape() {
    return numbers(tensor + 24);
  }

  /** Returns the numbers at {@code strides}, in elements; null if the pointer is null. */
  long @Nullable [] strides() {
    return numbers(tensor + 32);
  }

  private long @Nullable [] numbers(long at) {
    long address = struct.get(JAVA_LONG, at);
    return address == 0
        ? null
        : MemorySegment.ofAddress(address)
            .reinterpret(8L * dimensions())
            .toArray(JAVA_LONG_UNALIGNED);
  }

  void shape(long[] shape, long[] strides) {
    long size = versioned ? VERSIONED_BYTES : UNVERSIONED_BYTES;
    MemorySegment.copy(shape, 0, struct, JAVA_LONG, size, shape.length);
    MemorySegment.copy(strides, 0, struct, JAVA_LONG, size + 8L * shape.length, strides.length);
  }

  long byteOffset() {
    return struct.get(JAVA_LONG, tensor + 40);
  }

  void byteOffset(long bytes) {
    struct.set(JAVA_LONG, tensor + 40, bytes);
  }
}
