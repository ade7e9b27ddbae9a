package dev.tidepool.host.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
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
    assertThat(file.lines()).containsExactly("one", "two");
    Files.writeString(path, "3\n");
    assertThat(file.lines()).containsExactly("3");
    List<String> many = Collections.nCopies(2000, "a line");
    Files.write(path, many);
    assertThat(file.lines()).isEqualTo(many);
  }

  @Test
  void aFileThatIsAbsentHasNoLines() {
    assertThat(new HeldFile(folder.resolve("absent")).lines()).isEmpty();
  }

  @Test
  void anInterruptedThreadReadsToo() throws IOException {
    HeldFile file = new HeldFile(Files.writeString(folder.resolve("file"), "one\n"));
    Thread.currentThread().interrupt();
    assertThat(file.lines()).containsExactly("one");
    assertThat(Thread.interrupted()).isTrue();
    assertThat(file.lines()).containsExactly("one");
  }
}
