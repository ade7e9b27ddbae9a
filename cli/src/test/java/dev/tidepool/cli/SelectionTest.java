package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.MemoryOptions;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import java.util.List;
import org.junit.jupiter.api.Test;

class SelectionTest {
  private static final AcceleratorProvider GRAPHICS = new Provider("graphics", false);
  private static final AcceleratorProvider PROCESSOR = new Provider("processor", true);

  private record Provider(String name, boolean offersOnlyTheCpu) implements AcceleratorProvider {
    @Override
    public Discovery discover() {
      throw new AssertionError("nobody asked for a device of " + name);
    }
  }

  @Test
  void auto_asks_no_driver_that_has_only_the_cpu_to_offer() {
    assertThat(Selection.needed("auto", List.of(PROCESSOR, GRAPHICS))).containsExactly(GRAPHICS);
  }

  @Test
  void an_id_asks_only_the_driver_that_it_names() {
    List<AcceleratorProvider> installed = List.of(PROCESSOR, GRAPHICS);
    assertThat(Selection.needed("processor:0", installed)).containsExactly(PROCESSOR);
    assertThat(Selection.needed("graphics:3", installed)).containsExactly(GRAPHICS);
  }

  @Test
  void auto_takes_the_cpu_only_where_there_is_nothing_better() {
    try (Selection selection = Selection.open("auto", MemoryOptions.defaults())) {
      boolean better =
          selection.tidepool().accelerators().stream()
              .anyMatch(accelerator -> accelerator.kind() != AcceleratorKind.CPU);
      assertThat(selection.isAutomatic()).isTrue();
      assertThat(selection.accelerator().id().equals("cpu:0")).isEqualTo(!better);
    }
  }

  @Test
  void the_cpu_is_opened_without_any_driver() {
    try (Selection selection = Selection.open("cpu:0", MemoryOptions.defaults())) {
      assertThat(selection.tidepool().accelerators()).hasSize(1);
      assertThat(selection.accelerator().id()).isEqualTo("cpu:0");
    }
  }

  @Test
  void an_id_that_nobody_has_is_refused_with_those_that_exist() {
    assertThatThrownBy(() -> Selection.open("metal:0", MemoryOptions.defaults()))
        .isInstanceOf(WrongArguments.class)
        .hasMessageContaining("'metal:0'")
        .hasMessageContaining("cpu:0");
  }
}
