/** The contract of every accelerator as a suite; devices and faults for tests. */
module dev.tidepool.testkit {
  requires transitive dev.tidepool.memory;
  requires transitive org.junit.jupiter.api;
  requires java.compiler;
  requires java.logging;
  requires org.assertj.core;
  requires org.junit.platform.commons;
  requires static org.jspecify;

  exports dev.tidepool.testkit;
  exports dev.tidepool.testkit.conformance;
  exports dev.tidepool.testkit.cuda;
  exports dev.tidepool.testkit.fault;
  exports dev.tidepool.testkit.metal;
  exports dev.tidepool.testkit.simulated;
  exports dev.tidepool.testkit.workload;

  // JUnit calls test methods that are not public.
  opens dev.tidepool.testkit to
      org.junit.platform.commons;
  opens dev.tidepool.testkit.conformance to
      org.junit.platform.commons;
}
