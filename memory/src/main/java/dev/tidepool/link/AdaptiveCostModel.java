package dev.tidepool.link;

import dev.tidepool.link.StagingModel.Plan;

/**
 * The cost of staged transfers in one direction. Every measured chunk corrects it, because the
 * machine may be busier now than when it was calibrated. Thread-safe; of two simultaneous
 * measurements one may be lost.
 */
final class AdaptiveCostModel {
  /** The weight of a new measurement. Old ones fade after about thirty chunks. */
  private static final double WEIGHT = 0.1;

  /** The limit of a measurement, as a multiple of the old value. */
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

  /** Records the time in which the processor copied a number of bytes. */
  void hostCopied(long bytes, long nanos) {
    StagingModel now = model;
    model =
        new StagingModel(
            mixed(now.hostNanosPerByte(), (double) nanos / bytes),
            now.commandNanos(),
            now.linkNanosPerByte(),
            now.noticeNanos());
  }

  /** Records the time in which the device moved a number of bytes. It was busy during all of it. */
  void linkMoved(long bytes, long nanos) {
    StagingModel now = model;
    model =
        new StagingModel(
            now.hostNanosPerByte(),
            now.commandNanos(),
            mixed(now.linkNanosPerByte(), Math.max(0, nanos - now.commandNanos()) / bytes),
            now.noticeNanos());
  }

  /** Returns the new average. A measurement is limited, because a delayed thread distorts it. */
  private static double mixed(double old, double measured) {
    double counted = old == 0 ? measured : Math.min(measured, old * MOST);
    return old + WEIGHT * (counted - old);
  }
}
