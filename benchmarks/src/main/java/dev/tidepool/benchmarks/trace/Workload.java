package dev.tidepool.benchmarks.trace;

import java.util.Locale;

/** Programs whose typical allocations are generated. */
enum Workload {
  /** Training steps of an image classifier. */
  RESNET,
  /** Queries of a column store. */
  QUERY,
  /** Windows over a stream with bursts. */
  STREAM;

  /** Returns the program's name on the command line. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Writes the program's allocations, which depend only on the seed. */
  void write(TraceWriter writer, long seed) {
    switch (this) {
      case RESNET -> ResNetTraining.write(writer, seed);
      case QUERY -> QueryEngine.write(writer, seed);
      case STREAM -> StreamingJob.write(writer, seed);
    }
  }
}
