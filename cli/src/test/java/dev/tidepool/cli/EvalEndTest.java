package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("What happens beside a run")
class EvalEndTest {
  private static Runnable onDiscovery = () -> {};
  private static Runnable onClose = () -> {};

  @TempDir private Path folder;
  private final ClassLoader before = Thread.currentThread().getContextClassLoader();
  private Path x;
  private Path y;

  /** A simulated device, found after outputs are begun and closed after they are in place. */
  public static final class Provider implements AcceleratorProvider {
    @Override
    public String name() {
      return "simulated";
    }

    @Override
    public Discovery discover() {
      onDiscovery.run();
      Device device =
          new SimulatedProvider(SimulatedHardware.discrete()).discover().devices().getFirst();
      Device observed =
          (Device)
              Proxy.newProxyInstance(
                  Device.class.getClassLoader(),
                  new Class<?>[] {Device.class},
                  (self, method, arguments) -> {
                    if (method.getName().equals("equals")) {
                      return self == arguments[0];
                    }
                    try {
                      Object result = method.invoke(device, arguments);
                      if (method.getName().equals("close")) {
                        onClose.run();
                      }
                      return result;
                    } catch (InvocationTargetException e) {
                      throw e.getCause();
                    }
                  });
      return new Discovery(List.of(observed), List.of());
    }
  }

  @BeforeEach
  void install() throws IOException {
    Path services = Files.createDirectories(folder.resolve("classes/META-INF/services"));
    Files.writeString(
        services.resolve(AcceleratorProvider.class.getName()), Provider.class.getName());
    URL[] classes = {folder.resolve("classes/").toUri().toURL()};
    Thread.currentThread().setContextClassLoader(new URLClassLoader(classes, before));
    x = NpyFiles.floats(folder.resolve("x.npy"), 1, 2, 3);
    y = folder.resolve("y.npy");
  }

  @AfterEach
  void uninstall() throws IOException {
    ((URLClassLoader) Thread.currentThread().getContextClassLoader()).close();
    Thread.currentThread().setContextClassLoader(before);
    onDiscovery = () -> {};
    onClose = () -> {};
  }

  private Command.Result eval() {
    return Command.run("eval", "y = x + 1", "x=" + x, "y=" + y, "--device", "simulated:0");
  }

  @Test
  void results_in_place_are_a_success_though_the_accelerator_cannot_be_closed() {
    onClose =
        () -> {
          throw new OutOfMemoryError("in a driver");
        };
    Command.Result result = eval();
    assertThat(result.status()).as(result.err()).isEqualTo(ExitStatus.DONE);
    assertThat(result.out()).startsWith("3 elements, ");
    assertThat(result.err())
        .startsWith("tidepool: the results are complete, but what computed them")
        .contains("in a driver");
    assertThat(y).hasSameBinaryContentAs(NpyFiles.floats(folder.resolve("e.npy"), 2, 3, 4));
  }

  @Test
  void an_output_that_appears_is_kept_and_the_message_says_how_to_replace_it() {
    onDiscovery =
        () -> {
          try {
            Files.writeString(y, "another's");
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        };
    Command.Result result = eval();
    assertThat(result.status()).isEqualTo(ExitStatus.FAILED);
    assertThat(result.err())
        .isEqualToNormalizingNewlines(
            "tidepool: " + y + " exists; name another file, or allow overwriting (--force)\n");
    assertThat(y).hasContent("another's");
  }
}
