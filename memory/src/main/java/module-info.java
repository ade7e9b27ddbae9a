/** Unified host/device memory: the API, its runtime, and the CPU accelerator. */
// javac warns of modules that are exported to and not there: this one is compiled first.
@SuppressWarnings("module")
module dev.tidepool.memory {
  requires static java.management;
  requires static jdk.jfr;
  requires static org.jspecify;

  exports dev.tidepool;
  exports dev.tidepool.spi;
  exports dev.tidepool.host;
  exports dev.tidepool.pool;
  exports dev.tidepool.transfer;
  exports dev.tidepool.expression;
  exports dev.tidepool.cpu;
  exports dev.tidepool.stream;
  exports dev.tidepool.codec to
      dev.tidepool.lz4;

  uses dev.tidepool.TidepoolRuntime;
  uses dev.tidepool.codec.FileCodec;
  uses dev.tidepool.runtime.FileKernels;
  uses dev.tidepool.spi.AcceleratorProvider;

  provides dev.tidepool.TidepoolRuntime with
      dev.tidepool.runtime.InstalledRuntime;
  provides dev.tidepool.runtime.FileKernels with
      dev.tidepool.stream.StreamedKernels;
}
