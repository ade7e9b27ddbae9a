/** Unified host/device memory: the API, its runtime, and the CPU accelerator. */
module dev.tidepool.memory {
  requires static org.jspecify;

  exports dev.tidepool;
  exports dev.tidepool.spi;
}
