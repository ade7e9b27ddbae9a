package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.testkit.metal.MetalMethod;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The messages that are sent, and the numbers in them, are those that Apple documents. */
class SignaturesTest {
  @Test
  void eachMessageIsDocumentedSo() throws Exception {
    Simulation.install();
    List<MetalMethod> declared = new ArrayList<>();
    for (Class<?> functions : List.of(Foundation.class, Metal.class)) {
      for (var field : functions.getDeclaredFields()) {
        if (field.getType() == Message.class) {
          field.setAccessible(true);
          declared.add(method((Message) field.get(null)));
        }
      }
    }
    assertThat(declared).hasSizeGreaterThan(50);
    assertThat(SimulatedMetal.checkSignatures(declared)).isEmpty();
  }

  @Test
  void eachFunctionIsDocumentedSo() throws Exception {
    Simulation.install();
    int checked = 0;
    for (Class<?> functions : List.of(ObjectiveC.class, Metal.class)) {
      for (var field : functions.getDeclaredFields()) {
        if (field.getType() == LinkedFunction.class) {
          field.setAccessible(true);
          LinkedFunction function = (LinkedFunction) field.get(null);
          assertThat(SimulatedMetal.checkFunction(function.name(), function.descriptor()))
              .isEmpty();
          checked++;
        }
      }
    }
    assertThat(checked).isEqualTo(6);
  }

  @ParameterizedTest
  @CsvSource({
    "MTLResourceStorageModeShared, " + Metal.SHARED,
    "MTLResourceStorageModePrivate, " + Metal.PRIVATE,
    "MTLStorageModeShared, " + Metal.STORAGE_MODE_SHARED,
    "MTLStorageModePrivate, " + Metal.STORAGE_MODE_PRIVATE,
    "MTLCommandBufferStatusCompleted, " + Metal.STATUS_COMPLETED,
    "MTLMathModeSafe, " + Metal.MATH_MODE_SAFE,
    "MTLMathFloatingPointFunctionsPrecise, " + Metal.PRECISE_FUNCTIONS,
    "MTLBindingTypeBuffer, " + Metal.BINDING_BUFFER,
    "MTLBindingTypeThreadgroupMemory, " + Metal.BINDING_GROUP_MEMORY,
    "MTLCommandBufferErrorInternal, " + CommandErrors.INTERNAL,
    "MTLCommandBufferErrorTimeout, " + CommandErrors.TIMEOUT,
    "MTLCommandBufferErrorPageFault, " + CommandErrors.PAGE_FAULT,
    "MTLCommandBufferErrorAccessRevoked, " + CommandErrors.ACCESS_REVOKED,
    "MTLCommandBufferErrorNotPermitted, " + CommandErrors.NOT_PERMITTED,
    "MTLCommandBufferErrorOutOfMemory, " + CommandErrors.OUT_OF_MEMORY,
    "MTLCommandBufferErrorInvalidResource, " + CommandErrors.INVALID_RESOURCE,
    "MTLCommandBufferErrorDeviceRemoved, " + CommandErrors.DEVICE_REMOVED,
    "MTLCommandBufferErrorStackOverflow, " + CommandErrors.STACK_OVERFLOW,
  })
  void eachNumberIsDocumentedSo(String constant, long value) {
    assertThat(value).isEqualTo(SimulatedMetal.constant(constant));
  }

  private static MetalMethod method(Message message) {
    return new MetalMethod(message.owner(), message.name(), message.signature().descriptor());
  }
}
