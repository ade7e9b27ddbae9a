package dev.tidepool;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A buffer that is {@linkplain UnifiedMemoryManager#lend lent} to native code, what that code does
 * with it, and the kind of handle that it needs.
 *
 * @param buffer of the manager that lends it; a slice is lent as its range
 * @param reads whether native code reads the bytes, so that the newest ones must be there
 * @param writes whether native code writes the bytes
 * @param kind the kind of handle; null for the one that the buffer's memory has anyway
 */
public record NativeUse(
    UnifiedBuffer<?> buffer, boolean reads, boolean writes, @Nullable NativeKind kind) {
  /**
   * Checks what is given.
   *
   * @throws IllegalArgumentException if the buffer is neither read nor written
   */
  public NativeUse {
    Objects.requireNonNull(buffer, "buffer");
    if (!reads && !writes) {
      throw new IllegalArgumentException("a use reads the buffer, or writes it, or does both");
    }
  }

  /** Native code only reads the buffer. */
  public static NativeUse read(UnifiedBuffer<?> buffer) {
    return new NativeUse(buffer, true, false, null);
  }

  /** Native code writes all of the buffer; the old bytes need not be there. */
  public static NativeUse write(UnifiedBuffer<?> buffer) {
    return new NativeUse(buffer, false, true, null);
  }

  /** Native code reads the buffer and writes it, or writes a part of it. */
  public static NativeUse readWrite(UnifiedBuffer<?> buffer) {
    return new NativeUse(buffer, true, true, null);
  }

  /** Returns this use with a handle of the given kind. */
  public NativeUse as(NativeKind wanted) {
    return new NativeUse(buffer, reads, writes, Objects.requireNonNull(wanted, "kind"));
  }
}
