package dev.tidepool.benchmarks.trace;

import java.util.Locale;

/** Programs whose allocations are generated, because they are typical. */
enum Workload {
  /** Training steps of an image classifier. */
  RESNET,
  /** Queries of a column store. */
  QUERY,
  /** Windows over a stream that comes in bursts. */
  STREAM;

  /** Returns its name on the command line. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Writes its allocations, which depend on the seed only. */
  void write(TraceWriter writer, long seed) {
    switch (this) {
      case RESNET -> ResNetTraining.write(writer, seed);
      case QUERY -> QueryEngine.write(writer, seed);
      case STREAM -> StreamingJob.write(writer, seed);
    }
  }
}
