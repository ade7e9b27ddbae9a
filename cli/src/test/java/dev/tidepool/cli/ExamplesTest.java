package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("The example data")
class ExamplesTest {
  private static final Path EXAMPLES = Path.of("..", "examples").toAbsolutePath().normalize();

  @TempDir Path folder;

  @Test
  void are_the_columns_of_the_table() throws IOException {
    List<String[]> rows = rows();
    ByteBuffer latitude = NpyImage.read(EXAMPLES.resolve("latitude.npy")).data();
    ByteBuffer longitude = NpyImage.read(EXAMPLES.resolve("longitude.npy")).data();
    assertThat(latitude.remaining()).isEqualTo(rows.size() * Float.BYTES);
    for (int i = 0; i < rows.size(); i++) {
      String[] row = rows.get(i);
      assertThat(latitude.getFloat(i * Float.BYTES))
          .isCloseTo(Float.parseFloat(row[1]), within(1e-5f));
      assertThat(longitude.getFloat(i * Float.BYTES))
          .isCloseTo(Float.parseFloat(row[2]), within(1e-5f));
    }
  }

  @Test
  void give_the_distances_from_london_that_their_page_tells() throws IOException {
    Path km = folder.resolve("distance.npy");
    Command.Result result =
        Command.run(
            "eval",
            "h = pow(sin(r*(lat - lat0)/2), 2)"
                + " + cos(r*lat)*cos(r*lat0)*pow(sin(r*(lon - lon0)/2), 2);\n"
                + "km = 12742 * asin(sqrt(h))",
            "lat=" + EXAMPLES.resolve("latitude.npy"),
            "lon=" + EXAMPLES.resolve("longitude.npy"),
            "lat0=51.51",
            "lon0=-0.13",
            "r=0.017453293",
            "km=" + km,
            "--device",
            "cpu:0");
    assertThat(result.err()).isEmpty();
    assertThat(result.out()).startsWith("312 elements, 3.66 KiB in ").contains(" on cpu:0 (");
    ByteBuffer distances = NpyImage.read(km).data();
    List<String> names = rows().stream().map(row -> row[0]).toList();
    assertThat(distances.getFloat(4 * names.indexOf("America/New_York")))
        .isCloseTo(5570, within(1f));
    assertThat(distances.getFloat(4 * names.indexOf("Asia/Tokyo"))).isCloseTo(9564, within(1f));
    assertThat(distances.getFloat(4 * names.indexOf("Australia/Sydney")))
        .isCloseTo(16994, within(1f));
  }

  private static List<String[]> rows() throws IOException {
    return Files.readAllLines(EXAMPLES.resolve("places.csv")).stream()
        .skip(1)
        .map(line -> line.split(","))
        .toList();
  }
}
