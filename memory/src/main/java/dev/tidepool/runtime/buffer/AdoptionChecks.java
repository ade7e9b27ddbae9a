package dev.tidepool.runtime.buffer;

import dev.tidepool.ElementType;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import java.lang.foreign.MemorySegment;

/** Checks of a handle of another library's memory, and the memory behind it. */
final class AdoptionChecks {
  private AdoptionChecks() {}

  /**
   * Checks that elements can lie there. Libraries give null for memory of no bytes.
   *
   * @throws IllegalArgumentException if they cannot
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

  /**
   * Returns the handle of all bytes up to the end, which begins at offset 0, as devices take it.
   */
  static NativeHandle whole(NativeHandle memory) {
    return memory.kind().isPointer()
        ? new NativeHandle(memory.kind(), memory.address(), 0, memory.byteSize())
        : new NativeHandle(memory.kind(), memory.value(), 0, memory.offset() + memory.byteSize());
  }

  /** Returns the byte of {@link #whole} that the memory begins at. */
  static long start(NativeHandle memory) {
    return memory.kind().isPointer() ? 0 : memory.offset();
  }

  /** Returns whether no device has to be asked for it. */
  static boolean isOnHost(NativeHandle memory) {
    return memory.kind() == NativeKind.HOST_POINTER || memory.byteSize() == 0;
  }
}
