package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is said where the driver finds no device. */
class DeviceNodesTest {
  @TempDir private Path folder;

  private DeviceNodes denying(String denied) {
    return new DeviceNodes(folder, node -> !node.endsWith(denied));
  }

  private void nodes(String... names) throws IOException {
    for (String name : names) {
      Files.createFile(folder.resolve(name));
    }
  }

  @Test
  void nodesThatThisUserMayNotOpenAreNamedAndWhoCanHelp() throws IOException {
    nodes("nvidiactl", "nvidia0", "nvidia-uvm", "nvidia-modeset");
    for (String denied : new String[] {"nvidiactl", "nvidia0", "nvidia-uvm"}) {
      assertThat(denying(denied).whyNone())
          .contains("this user may not open " + folder.resolve(denied) + ";", "group video");
    }
    // Which computing does not need.
    assertThat(denying("nvidia-modeset").whyNone()).contains("CUDA_VISIBLE_DEVICES");
  }

  @Test
  void aMachineOrAContainerWithoutNodesIsToldFromOneWhoseDevicesAreHidden() throws IOException {
    assertThat(denying("").whyNone()).contains("there is no " + folder, "--gpus all");
    nodes("nvidiactl", "nvidia0");
    assertThat(denying("").whyNone()).contains("CUDA_VISIBLE_DEVICES may hide it");
  }

  @Test
  void theNoteOfADriverThatMayNotOpenThemSaysSo() throws IOException {
    nodes("nvidiactl", "nvidia-uvm", "nvidia0");
    for (int code :
        new int[] {
          ErrorCodes.CUDA_ERROR_NO_DEVICE,
          ErrorCodes.CUDA_ERROR_OPERATING_SYSTEM,
          ErrorCodes.CUDA_ERROR_UNKNOWN
        }) {
      Simulation.with(1).fail("cuInit", 1, code);
      Installed installed = Installed.look(denying("nvidia-uvm"));
      assertThat(installed.devices()).isEmpty();
      assertThat(installed.notes())
          .singleElement()
          .asString()
          .contains("the CUDA driver", "this user may not open " + folder.resolve("nvidia-uvm"));
    }
  }
}
