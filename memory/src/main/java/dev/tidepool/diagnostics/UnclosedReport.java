package dev.tidepool.diagnostics;

import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;

/**
 * Reports a {@link Tidepool}, or a manager of {@link UnifiedMemoryManager#create()}, that became
 * unreachable without being closed. The library has closed its accelerators and freed their memory.
 * This happens late, when the garbage collector detects it, and copies no bytes back to wrapped
 * memory and mapped files.
 *
 * @param accelerator the accelerators that were open, separated by commas
 * @param blocks the blocks of memory that it still held from drivers and the system
 * @param bytes the sum of their bytes
 * @param site the stack that opened it, a line for each frame
 */
public record UnclosedReport(String accelerator, long blocks, long bytes, String site)
    implements DiagnosticReport {
  /** Returns the empty string, because a Tidepool has no tag. */
  @Override
  public String tag() {
    return "";
  }

  @Override
  public String toString() {
    return "a Tidepool over "
        + accelerator
        + " became unreachable without close() and was closed; it held "
        + bytes
        + " bytes in "
        + (blocks == 1 ? "1 block" : blocks + " blocks")
        + "; close it, or open it in try-with-resources; opened at\n    "
        + site.replace("\n", "\n    ");
  }
}
