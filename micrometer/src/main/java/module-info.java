/** The figures of memory managers as meters of Micrometer. */
@SuppressWarnings(
    "requires-transitive-automatic") // Micrometer has a fixed name, but no descriptor.
module dev.tidepool.micrometer {
  requires transitive dev.tidepool.memory;
  requires transitive micrometer.core;
  requires static org.jspecify;

  exports dev.tidepool.micrometer;
}
