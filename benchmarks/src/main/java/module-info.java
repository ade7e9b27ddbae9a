/** Benchmarks; open, because JMH drives them by reflection. */
open module dev.tidepool.benchmarks {
  requires static org.jspecify;
  requires dev.tidepool.memory;
  requires dev.tidepool.micrometer;
  requires dev.tidepool.opencl;
  requires dev.tidepool.testkit;
  requires fast.object.pool;
  requires io.netty.buffer;
  requires jmh.core;
  requires micrometer.registry.prometheus;
  requires org.apache.arrow.memory.core;
  requires org.apache.commons.pool2;
  requires stormpot;

  uses dev.tidepool.spi.AcceleratorProvider;
}
