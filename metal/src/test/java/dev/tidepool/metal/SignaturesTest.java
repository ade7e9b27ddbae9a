package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.testkit.metal.MetalMethod;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The messages that are sent have the types that Apple documents. */
class SignaturesTest {
  @Test
  void eachMessageIsDocumentedSo() {
    Simulation.install();
    List<MetalMethod> declared =
        Stream.concat(Foundation.MESSAGES.stream(), Metal.MESSAGES.stream())
            .map(
                message ->
                    new MetalMethod(
                        message.owner(), message.name(), message.signature().descriptor()))
            .toList();
    assertThat(declared).hasSizeGreaterThan(50);
    assertThat(SimulatedMetal.checkSignatures(declared)).isEmpty();
  }
}
