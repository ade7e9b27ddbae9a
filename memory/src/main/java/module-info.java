/** Unified host/device memory: the API, its runtime, and the CPU accelerator. */
// javac warns of modules that are exported to and not there: this one is compiled first.
@SuppressWarnings("module")
module dev.tidepool.memory {
  requires static java.management;
  requires static jdk.jfr;
  requires static org.jspecify;

  exports dev.tidepool;
  exports dev.tidepool.diagnostics;
  exports dev.tidepool.pooling;
  exports dev.tidepool.transfer;
  exports dev.tidepool.spi;
  exports dev.tidepool.host;
  exports dev.tidepool.interop;
  exports dev.tidepool.stream;

  // What follows is for the project's own modules.
  exports dev.tidepool.codec to
      dev.tidepool.lz4;
  exports dev.tidepool.cpu to
      dev.tidepool.benchmarks;
  exports dev.tidepool.expression.c to
      dev.tidepool.cuda,
      dev.tidepool.metal,
      dev.tidepool.opencl,
      dev.tidepool.testkit;
  exports dev.tidepool.expression.jvm to
      dev.tidepool.testkit;
  exports dev.tidepool.expression.syntax to
      dev.tidepool.cli,
      dev.tidepool.spark;
  exports dev.tidepool.expression.types to
      dev.tidepool.cli,
      dev.tidepool.cuda,
      dev.tidepool.metal,
      dev.tidepool.opencl,
      dev.tidepool.spark,
      dev.tidepool.testkit;
  exports dev.tidepool.host.system to
      dev.tidepool.cli,
      dev.tidepool.cuda,
      dev.tidepool.metal,
      dev.tidepool.opencl,
      dev.tidepool.testkit;
  exports dev.tidepool.methods.analysis to
      dev.tidepool.cuda,
      dev.tidepool.metal,
      dev.tidepool.opencl,
      dev.tidepool.spark,
      dev.tidepool.testkit;
  exports dev.tidepool.methods.bytecode to
      dev.tidepool.benchmarks,
      dev.tidepool.cuda,
      dev.tidepool.metal,
      dev.tidepool.opencl,
      dev.tidepool.testkit;
  exports dev.tidepool.methods.c to
      dev.tidepool.benchmarks,
      dev.tidepool.cuda,
      dev.tidepool.metal,
      dev.tidepool.opencl,
      dev.tidepool.testkit;
  exports dev.tidepool.methods.jvm to
      dev.tidepool.testkit;
  exports dev.tidepool.methods.tree to
      dev.tidepool.cuda,
      dev.tidepool.metal,
      dev.tidepool.opencl,
      dev.tidepool.testkit;
  exports dev.tidepool.pool.block to
      dev.tidepool.benchmarks,
      dev.tidepool.testkit;
  exports dev.tidepool.spi.support to
      dev.tidepool.cli,
      dev.tidepool.cuda,
      dev.tidepool.lz4,
      dev.tidepool.metal,
      dev.tidepool.opencl,
      dev.tidepool.testkit;
  exports dev.tidepool.stream.file to
      dev.tidepool.cli;
  exports dev.tidepool.link to
      dev.tidepool.benchmarks,
      dev.tidepool.testkit;

  uses dev.tidepool.TidepoolRuntime;
  uses dev.tidepool.codec.FileCodec;
  uses dev.tidepool.runtime.kernel.FileKernels;
  uses dev.tidepool.spi.AcceleratorProvider;

  provides dev.tidepool.TidepoolRuntime with
      dev.tidepool.runtime.session.RuntimeProvider;
  provides dev.tidepool.runtime.kernel.FileKernels with
      dev.tidepool.stream.StreamedKernels;
}
