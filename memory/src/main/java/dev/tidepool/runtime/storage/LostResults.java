package dev.tidepool.runtime.storage;

import dev.tidepool.TransferException;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.LostResultReport;
import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.spi.support.FailureText;
import java.lang.System.Logger.Level;

/**
 * Counts, logs and reports buffers whose newest bytes could not be brought back to memory that
 * outlives the buffer. Thread-safe.
 */
final class LostResults {
  private final ManagerContext context;
  private final AllocationCounters counters;
  private final DiagnosticSink reports;

  LostResults(ManagerContext context, AllocationCounters counters, DiagnosticSink reports) {
    this.context = context;
    this.counters = counters;
    this.reports = reports;
  }

  /**
   * Reports a failed write-back, before the copy with the newest bytes is freed. Returns the
   * exception to throw.
   *
   * @param bytes the number of bytes that are lost
   * @param ofHost whether the host wrote the bytes, and not the device
   */
  TransferException tell(
      BufferInfo buffer, String name, long bytes, boolean ofHost, Throwable failure) {
    String text = FailureText.of(failure);
    report(buffer, bytes, text);
    return new TransferException(
        name
            + " was closed, but "
            + bytes
            + " bytes that "
            + (ofHost ? "the host" : context.id())
            + " wrote are lost: "
            + text,
        failure);
  }

  /** Reports a buffer that became unreachable before its newest bytes were brought back. */
  void tellUnreachable(BufferInfo buffer, long bytes) {
    report(
        buffer,
        bytes,
        "the buffer became unreachable without close(); close it, or synchronize its manager,"
            + " before the last reference goes");
  }

  private void report(BufferInfo buffer, long bytes, String cause) {
    counters.lostResult();
    reports.report(
        Level.ERROR,
        new LostResultReport(
            context.id(),
            buffer.tag(),
            buffer.elementType(),
            buffer.location(),
            bytes,
            cause,
            buffer.age(),
            buffer.site()));
  }
}
