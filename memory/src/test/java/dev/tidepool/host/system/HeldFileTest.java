package dev.tidepool.host.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@DisabledOnOs(OS.WINDOWS) // a file that is open stays there
class HeldFileTest {
  @TempDir Path folder;

  @Test
  void eachReadingIsOfWhatTheFileSaysThen() throws IOException {
    Path path = Files.writeString(folder.resolve("file"), "one\ntwo\n");
    HeldFile file = new HeldFile(path);
    assertThat(file.text()).isEqualTo("one\ntwo\n");
    Files.writeString(path, "3\n");
    assertThat(file.text()).isEqualTo("3\n");
    String many = "a line\n".repeat(2000);
    Files.writeString(path, many);
    assertThat(file.text()).isEqualTo(many);
  }

  @Test
  void aFileThatIsAbsentIsEmpty() {
    assertThat(new HeldFile(folder.resolve("absent")).text()).isEmpty();
  }

  @Test
  void anInterruptedThreadReadsToo() throws IOException {
    HeldFile file = new HeldFile(Files.writeString(folder.resolve("file"), "one\n"));
    Thread.currentThread().interrupt();
    assertThat(file.text()).isEqualTo("one\n");
    assertThat(Thread.interrupted()).isTrue();
    assertThat(file.text()).isEqualTo("one\n");
  }
}
