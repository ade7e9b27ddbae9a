package dev.tidepool.diagnostics;

import java.time.Duration;

/**
 * A buffer beside which bytes were overwritten, by a hand-written kernel that ran past an end or by
 * native code that was given its address. Found at the level {@link DiagnosticsLevel#PARANOID}.
 *
 * @param accelerator the accelerator of its manager
 * @param tag its owner; empty if none was named
 * @param elementType what its elements are, by name
 * @param bytes its bytes
 * @param offset the first damaged byte, counted from the buffer's first: negative before the
 *     buffer, {@code bytes} or more behind it
 * @param damaged how many bytes of the guard zone are not what they were
 * @param age the time since the buffer was allocated
 * @param site the stack that allocated it, a line for each frame
 */
public record GuardReport(
    String accelerator,
    String tag,
    String elementType,
    long bytes,
    long offset,
    long damaged,
    Duration age,
    String site)
    implements DiagnosticReport {
  @Override
  public String toString() {
    return (damaged == 1 ? "1 byte was" : damaged + " bytes were")
        + " written "
        + (offset < 0
            ? "before the first byte, from byte " + offset + " on,"
            : "behind the last byte, from byte " + offset + " on,")
        + " of the buffer"
        + (tag.isEmpty() ? "" : " '" + ReportText.visible(tag) + "'")
        + " of "
        + elementType
        + " on "
        + accelerator
        + ", "
        + bytes
        + " bytes; allocated "
        + ReportText.origin(age, site);
  }
}
