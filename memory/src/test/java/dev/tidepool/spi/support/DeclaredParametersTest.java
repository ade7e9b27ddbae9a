package dev.tidepool.spi.support;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.spi.KernelArgument;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeclaredParametersTest {
  record Pair(float first, float second) {}

  private static final KernelArgument VALUE = new KernelArgument.Scalar(1);

  @Test
  void aStructByValueIsRefused() {
    assertThatThrownBy(
            () ->
                new DeclaredParameters(
                    "k", List.of(KernelParameter.scalar("p", ElementType.struct(Pair.class)))))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("'p' is a struct by value");
  }

  @Test
  void argumentsThatDoNotFitAreRefused() {
    var one = new DeclaredParameters("k", List.of(KernelParameter.scalar("a", ElementType.INT)));
    one.requireFit(List.of(VALUE));
    assertThatThrownBy(() -> one.requireFit(List.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("kernel 'k' takes 1 arguments, not 0");
    var array = new DeclaredParameters("k", List.of(KernelParameter.in("x", ElementType.INT)));
    assertThatThrownBy(() -> array.requireFit(List.of(VALUE)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("parameter 'x' of kernel 'k' takes an array");
  }
}
