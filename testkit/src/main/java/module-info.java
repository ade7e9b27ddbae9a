/** The conformance suite for accelerators, and instruments to test programs that use Tidepool. */
module dev.tidepool.testkit {
  requires static org.jspecify;
  requires transitive dev.tidepool.memory;
  requires transitive org.assertj.core;
  requires transitive org.junit.jupiter.api;
  requires transitive org.junit.jupiter.params;
}
