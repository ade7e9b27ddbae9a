package dev.tidepool.host;

/** What a reduction does with two values. */
enum Fold {
  SUM(0, 0),
  MIN(Double.POSITIVE_INFINITY, Long.MAX_VALUE),
  MAX(Double.NEGATIVE_INFINITY, Long.MIN_VALUE);

  /** What changes no value. */
  final double neutralDouble;

  final long neutralLong;

  Fold(double neutralDouble, long neutralLong) {
    this.neutralDouble = neutralDouble;
    this.neutralLong = neutralLong;
  }

  double apply(double left, double right) {
    return switch (this) {
      case SUM -> left + right;
      case MIN -> Math.min(left, right);
      case MAX -> Math.max(left, right);
    };
  }
}
