package dev.tidepool;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A buffer that is {@linkplain UnifiedMemoryManager#lend lent} to native code, how that code uses
 * it, and the kind of handle that it needs.
 *
 * @param buffer a buffer of the manager that lends it; a slice is lent as its range
 * @param reads whether native code reads the bytes, which must then be the newest
 * @param writes whether native code writes the bytes
 * @param kind the kind of handle; null for the native kind of the buffer's memory
 */
public record NativeUse(
    UnifiedBuffer<?> buffer, boolean reads, boolean writes, @Nullable NativeKind kind) {
  /**
   * Checks the components.
   *
   * @throws IllegalArgumentException if the buffer is neither read nor written
   */
  public NativeUse {
    Objects.requireNonNull(buffer, "buffer");
    if (!reads && !writes) {
      throw new IllegalArgumentException("a use reads the buffer, or writes it, or does both");
    }
  }

  /** Returns the use of a buffer that native code only reads. */
  public static NativeUse read(UnifiedBuffer<?> buffer) {
    return new NativeUse(buffer, true, false, null);
  }

  /** Returns the use of a buffer that native code writes completely; old bytes are not needed. */
  public static NativeUse write(UnifiedBuffer<?> buffer) {
    return new NativeUse(buffer, false, true, null);
  }

  /** Returns the use of a buffer that native code reads and writes, or writes in part. */
  public static NativeUse readWrite(UnifiedBuffer<?> buffer) {
    return new NativeUse(buffer, true, true, null);
  }

  /** Returns this use with a handle of the given kind. */
  public NativeUse as(NativeKind wanted) {
    return new NativeUse(buffer, reads, writes, Objects.requireNonNull(wanted, "kind"));
  }
}
