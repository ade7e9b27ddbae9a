package dev.tidepool.diagnostics;

import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;

/**
 * A {@link Tidepool}, or a manager of {@link UnifiedMemoryManager#create()}, that became
 * unreachable without being closed. The library has closed its accelerators and given back their
 * memory. That comes late, when the garbage collector notices, and brings no bytes back to wrapped
 * memory and mapped files.
 *
 * @param accelerator the accelerators that it had opened, separated by commas
 * @param blocks blocks of memory that it still held of drivers and the system
 * @param bytes their bytes
 * @param site the stack that opened it, a line for each frame
 */
public record UnclosedReport(String accelerator, long blocks, long bytes, String site)
    implements DiagnosticReport {
  /** Empty: a whole Tidepool has no tag. */
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
