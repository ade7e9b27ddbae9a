package dev.tidepool.cli.trace;

import java.util.Locale;

/** Programs whose allocations are generated, because they are typical. */
public enum Workload {
  /** Training steps of an image classifier. */
  RESNET,
  /** Queries of a column store. */
  QUERY,
  /** Windows over a stream that comes in bursts. */
  STREAM;

  /** What a person calls it. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Its allocations; the same for the same seed. */
  public Trace trace(long seed) {
    return switch (this) {
      case RESNET -> ResNetTraining.trace(seed);
      case QUERY -> QueryEngine.trace(seed);
      case STREAM -> StreamingJob.trace(seed);
    };
  }
}
