package dev.tidepool.runtime.buffer;

import dev.tidepool.ElementType;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import java.lang.foreign.MemorySegment;

/** Checks and conversions of handles of other libraries' memory. */
final class AdoptionChecks {
  private AdoptionChecks() {}

  /**
   * Checks the address and its alignment. Libraries pass null for memory of 0 bytes.
   *
   * @throws IllegalArgumentException if elements cannot be there
   */
  static void check(ElementType<?> type, NativeHandle memory) {
    boolean pointer = memory.kind().isPointer();
    long offset = memory.offset();
    boolean nowhere = memory.byteSize() > 0 && memory.value() <= 0;
    boolean tooFar =
        offset + memory.byteSize() < 0
            || (pointer && memory.value() + offset + memory.byteSize() < memory.value());
    if (nowhere || tooFar) {
      throw new IllegalArgumentException(
          "no memory of a process is at "
              + hex(memory.value())
              + " + "
              + offset
              + "; check what returned the "
              + (pointer ? "address" : "handle"));
    }
    long alignment = type.layout().byteAlignment();
    long start = pointer ? memory.address() : offset;
    if (start % alignment != 0) {
      throw new IllegalArgumentException(
          "the memory at "
              + (pointer ? hex(start) : "byte " + start + " of the object")
              + " is not aligned to the "
              + alignment
              + " bytes that "
              + type
              + " needs; adopt it as BYTE, or copy it");
    }
  }

  private static String hex(long address) {
    return "0x" + Long.toHexString(address);
  }

  /** Returns the memory of a HOST_POINTER. */
  static MemorySegment segment(NativeHandle memory) {
    return MemorySegment.ofAddress(memory.value() + memory.offset()).reinterpret(memory.byteSize());
  }

  /** Returns a handle with offset 0 that contains the memory, as devices require. */
  static NativeHandle whole(NativeHandle memory) {
    return memory.kind().isPointer()
        ? new NativeHandle(memory.kind(), memory.address(), 0, memory.byteSize())
        : new NativeHandle(memory.kind(), memory.value(), 0, memory.offset() + memory.byteSize());
  }

  /** Returns the offset of the memory in {@link #whole}. */
  static long start(NativeHandle memory) {
    return memory.kind().isPointer() ? 0 : memory.offset();
  }

  /** Returns whether the memory can be adopted without a device. */
  static boolean isOnHost(NativeHandle memory) {
    return memory.kind() == NativeKind.HOST_POINTER || memory.byteSize() == 0;
  }
}
