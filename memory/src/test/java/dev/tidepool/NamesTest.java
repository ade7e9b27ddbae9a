package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a log or a debugger shows says what it is. */
class NamesTest {
  @Test
  void aTidepoolNamesItsAcceleratorsAndAManagerItsOwn() {
    try (Tidepool tidepool = Tidepool.open()) {
      Accelerator cpu = tidepool.accelerator("cpu:0");
      assertThat(tidepool).asString().contains(cpu.id(), cpu.name());
      assertThat(tidepool.memory(cpu)).hasToString("memory of " + cpu);
      assertThat(cpu).asString().contains(cpu.id(), cpu.name());
    }
  }
}
