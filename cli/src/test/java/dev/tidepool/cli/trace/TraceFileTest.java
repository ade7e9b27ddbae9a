package dev.tidepool.cli.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceFileTest {
  @TempDir private Path folder;

  private static List<String> events(Trace trace) {
    List<String> events = new ArrayList<>();
    trace.visit(
        0,
        trace.events(),
        new Trace.Visitor() {
          @Override
          public void allocated(int buffer, long bytes, MemoryLocation location) {
            events.add("+ " + buffer + " " + bytes + " " + location);
          }

          @Override
          public void freed(int buffer) {
            events.add("- " + buffer);
          }
        });
    return events;
  }

  private Path file(String text) throws IOException {
    return Files.writeString(folder.resolve("some.trace"), text);
  }

  @Test
  void reads_what_a_program_recorded() throws IOException {
    Path file = folder.resolve("app.trace");
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(MemoryOptions.builder().trace(file).build())) {
      UnifiedBuffer<int[]> first = memory.allocate(ElementType.INT, 10);
      try (UnifiedBuffer<byte[]> second =
          memory.allocate(ElementType.BYTE, 3, Allocation.at(MemoryLocation.HOST).tag("second"))) {
        first.close();
        second.fill((byte) 1);
      }
    }
    Trace trace = TraceFile.read(file);
    assertThat(trace.name()).isEqualTo("app.trace");
    assertThat(events(trace)).containsExactly("+ 0 40 DEVICE", "+ 1 3 HOST", "- 0", "- 1");
  }

  @Test
  void numbers_may_have_gaps_and_buffers_may_stay_live() throws IOException {
    Trace trace = TraceFile.read(file("tidepool-trace 1\n+ 7 5 PINNED\n+ 900 6 HOST\n- 7\n"));
    assertThat(events(trace)).containsExactly("+ 0 5 PINNED", "+ 1 6 HOST", "- 0");
    assertThat(trace.peakBytes()).isEqualTo(11);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        ";                                       | 1 | the line is empty",
        "tidepool-trace 2;                       | 1 | this is no trace",
        "tidepool-trace 1;+ 1 2;                 | 2 | neither",
        "tidepool-trace 1;+ 1 2 DEVICE;x;        | 3 | neither",
        "tidepool-trace 1;;                      | 2 | the line is empty",
        "tidepool-trace 1;- 1;                   | 2 | buffer 1 is freed, but is not live",
        "tidepool-trace 1;+ 1 2 HOST;- 1;- 1;    | 4 | buffer 1 is freed, but is not live",
        "tidepool-trace 1;+ 1 2 HOST;+ 1 2 HOST; | 3 | buffer 1 is allocated again",
        "tidepool-trace 1;+ 1 -2 HOST;           | 2 | is no number from 0",
        "tidepool-trace 1;+ 1 99999999999999999999 HOST; | 2 | is no number from 0",
        "tidepool-trace 1;+ 1 2 MOON;            | 2 | is no location",
        "tidepool-trace 1;+ 1 2 DEV              | 2 | the file ends within the line",
      })
  void a_file_that_contradicts_itself_is_refused_with_the_line(
      String text, int line, String problem) throws IOException {
    Path file = file(text.replace(';', '\n'));
    assertThatThrownBy(() -> TraceFile.read(file))
        .isInstanceOf(MalformedTraceException.class)
        .hasMessageStartingWith(file + ", line " + line + ": ")
        .hasMessageContaining(problem);
  }

  @Test
  void a_large_file_of_another_kind_is_refused_at_its_beginning() throws IOException {
    Path file = folder.resolve("zeros");
    Files.write(file, new byte[10_000]);
    assertThatThrownBy(() -> TraceFile.read(file))
        .isInstanceOf(MalformedTraceException.class)
        .hasMessageContaining("line 1: the line is too long");
  }
}
