package dev.tidepool.link;

import dev.tidepool.link.StagingModel.Plan;

/**
 * What staged transfers of one direction take, corrected by every chunk that was measured: the
 * machine may be busier now than when it was calibrated. Thread-safe; of two that measure at the
 * same moment one may be lost.
 */
final class AdaptiveCostModel {
  /** The weight of a new measurement; the old ones fade after some thirty chunks. */
  private static final double WEIGHT = 0.1;

  /** How many times the old value a measurement counts for at most. */
  private static final double MOST = 4;

  private volatile StagingModel model;

  AdaptiveCostModel(StagingModel calibrated) {
    model = calibrated;
  }

  StagingModel model() {
    return model;
  }

  Plan plan(long bytes, long most) {
    return model.best(bytes, most);
  }

  /** The processor copied so many bytes in that time. */
  void hostCopied(long bytes, long nanos) {
    StagingModel now = model;
    model =
        new StagingModel(
            mixed(now.hostNanosPerByte(), (double) nanos / bytes),
            now.commandNanos(),
            now.linkNanosPerByte(),
            now.noticeNanos());
  }

  /** The device, which had something to do all the time, moved so many bytes in that time. */
  void linkMoved(long bytes, long nanos) {
    StagingModel now = model;
    model =
        new StagingModel(
            now.hostNanosPerByte(),
            now.commandNanos(),
            mixed(now.linkNanosPerByte(), Math.max(0, nanos - now.commandNanos()) / bytes),
            now.noticeNanos());
  }

  /** A thread that was held up says nothing of the link, so no measurement counts for too much. */
  private static double mixed(double old, double measured) {
    double counted = old == 0 ? measured : Math.min(measured, old * MOST);
    return old + WEIGHT * (counted - old);
  }
}
