package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.tidepool.TransferException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ViewTest {
  private static final String FIRST_ROW = "\"rows\":\\[\\s*\\[\\d+,";

  @TempDir private Path folder;
  private Path snapshot;

  @BeforeEach
  void take() {
    snapshot = Snapshots.withLeak(folder.resolve("s.json"), 200);
  }

  private static String page(Path file) throws IOException {
    return Files.readString(file);
  }

  @Test
  void makes_one_page_beside_the_snapshot_that_has_all_of_it_and_asks_the_network_for_nothing()
      throws IOException {
    Command.Result result = Command.run("view", snapshot.toString());
    assertThat(result.err()).isEmpty();
    assertThat(result.status()).isZero();
    Path made = folder.resolve("s.html");
    assertThat(result.out().strip()).isEqualTo(made.toString());
    String page = page(made);
    assertThat(page)
        .contains("default-src 'none'", "connect-src 'none'")
        .doesNotContain("src=", "href=", "url(", "@import");
    String begin = "<script type=\"application/json\" id=\"data\">";
    int start = page.indexOf(begin) + begin.length();
    String data = page.substring(start, page.indexOf("</script>", start));
    JsonObject embedded = JsonParser.parseString(data).getAsJsonObject();
    assertThat(embedded).isEqualTo(JsonParser.parseString(Files.readString(snapshot)));
  }

  @Test
  void what_is_no_json_is_refused_without_advice_to_programmers() throws IOException {
    Path text = Files.writeString(folder.resolve("text.json"), "{hello}");
    Command.Result result = Command.run("view", text.toString());
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err()).endsWith("text.json is no Tidepool snapshot: it is no JSON\n");
  }

  @Test
  void a_tag_does_not_break_out_of_the_page() throws IOException {
    // As another program may have written it.
    JsonObject json = JsonParser.parseString(Files.readString(snapshot)).getAsJsonObject();
    Path plain =
        Files.writeString(
            folder.resolve("plain.json"),
            new GsonBuilder().disableHtmlEscaping().create().toJson(json));
    assertThat(Files.readString(plain)).contains(Snapshots.EVIL_TAG);
    assertThat(Command.run("view", plain.toString()).status()).isZero();
    String page = page(folder.resolve("plain.html"));
    assertThat(page).doesNotContain("</script><script>document").contains("{{style}}");
    assertThat(page.split("<script", -1)).as("data and script").hasSize(3);
  }

  @Test
  void a_page_that_exists_is_replaced_by_force_alone() throws IOException {
    Path target = Files.writeString(folder.resolve("out.html"), "mine");
    String[] arguments = {"view", snapshot.toString(), "-o", target.toString()};
    Command.Result refused = Command.run(arguments);
    assertThat(refused.status()).isEqualTo(2);
    assertThat(refused.err()).isEqualTo("tidepool: " + target + " exists; --force replaces it\n");
    assertThat(page(target)).isEqualTo("mine");
    Command.Result forced =
        Command.run("view", snapshot.toString(), "-o", target.toString(), "--force");
    assertThat(forced.status()).isZero();
    assertThat(page(target)).contains("<!DOCTYPE html>");
  }

  @Test
  void a_page_that_appears_is_kept_and_the_message_says_how_to_replace_it() throws IOException {
    Path target = folder.resolve("late.html");
    try (OutputFile file = OutputFile.begin(target, snapshot, false)) {
      Files.writeString(target, "another's");
      assertThatThrownBy(() -> file.write("page"))
          .isInstanceOf(TransferException.class)
          .hasMessage(target + " exists; --force replaces it");
    }
    assertThat(target).hasContent("another's");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void a_device_that_takes_no_page_is_named() {
    Command.Result result = Command.run("view", snapshot.toString(), "-o", "/dev/full", "--force");
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.err())
        .isEqualTo("tidepool: cannot write /dev/full: No space left on device\n");
  }

  @Test
  void a_page_does_not_replace_its_own_snapshot() throws IOException {
    String before = Files.readString(snapshot);
    Path link = Files.createLink(folder.resolve("link.html"), snapshot);
    for (Path target : new Path[] {snapshot, link}) {
      Command.Result result =
          Command.run("view", snapshot.toString(), "-o", target.toString(), "--force");
      assertThat(result.status()).isEqualTo(2);
      assertThat(result.err()).contains(target + " is the file that is read; name another one");
      assertThat(Files.readString(snapshot)).isEqualTo(before);
    }
  }

  @Test
  void a_disk_that_is_full_takes_no_half_page_and_keeps_the_page_that_was_there() throws Exception {
    Path disk = Files.createDirectory(folder.resolve("disk"));
    int mounted = run("mount", "-t", "tmpfs", "-o", "size=64k", "tidepool-test", disk.toString());
    assumeTrue(mounted == 0, "only root can mount a small disk");
    try {
      Path page = Files.writeString(disk.resolve("old.html"), "mine");
      Files.write(disk.resolve("other"), new byte[32 << 10]);
      for (Path target : new Path[] {page, disk.resolve("new.html")}) {
        Command.Result result =
            Command.run("view", snapshot.toString(), "-o", target.toString(), "--force");
        assertThat(result.status()).isEqualTo(1);
        assertThat(result.err()).contains("cannot write " + target + ": its disk is full");
      }
      assertThat(page).hasContent("mine");
      assertThat(disk.toFile().list()).containsExactlyInAnyOrder("old.html", "other");
    } finally {
      assertThat(run("umount", disk.toString())).isZero();
    }
  }

  private static int run(String... command) throws IOException, InterruptedException {
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void a_new_page_is_its_owners_alone_as_the_snapshot_is() throws IOException {
    Path named = folder.resolve("named.html");
    Path forced = folder.resolve("forced.html");
    assertThat(Command.run("view", snapshot.toString()).status()).isZero();
    assertThat(Command.run("view", snapshot.toString(), "-o", named.toString()).status()).isZero();
    assertThat(
            Command.run("view", snapshot.toString(), "-o", forced.toString(), "--force").status())
        .isZero();
    for (Path page : new Path[] {folder.resolve("s.html"), named, forced}) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(page)))
          .isEqualTo("rw-------");
    }
    Files.setPosixFilePermissions(named, PosixFilePermissions.fromString("rw-r--r--"));
    assertThat(Command.run("view", snapshot.toString(), "-o", named.toString(), "--force").status())
        .isZero();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(named)))
        .isEqualTo("rw-r--r--");
  }

  @Test
  void a_snapshot_that_is_cut_anywhere_is_one_clear_error() throws IOException {
    String whole = Files.readString(snapshot).stripTrailing();
    for (int i = 1; i < 200; i++) {
      int length = (int) ((long) whole.length() * i / 200);
      Path cut = Files.writeString(folder.resolve("cut.json"), whole.substring(0, length));
      refuses(cut).contains("cut.json").contains("cut off");
    }
    refuses(Files.writeString(folder.resolve("last.json"), whole.substring(0, whole.length() - 1)))
        .contains("cut off");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'' | cut off",
        "[] | does not begin with",
        "{} | does not begin with",
        "hello | does not begin with",
        "{\"name\":1} | does not begin with",
        "{\"tidepool-snapshot\":2} | is of version 2, and this tidepool reads 1",
        "{\"tidepool-snapshot\":\"1\"} | no number at $.tidepool-snapshot",
        "{\"tidepool-snapshot\":1} | it has no accelerator, blocks, forgotten",
      })
  void a_file_that_is_none_is_told_with_what_is_wrong(String text, String message)
      throws IOException {
    refuses(Files.writeString(folder.resolve("foreign.json"), text)).contains(message);
  }

  @Test
  void a_snapshot_that_points_nowhere_or_lacks_a_part_is_told_with_the_place() throws IOException {
    int pools =
        JsonParser.parseString(Files.readString(snapshot))
            .getAsJsonObject()
            .getAsJsonArray("pools")
            .size();
    changed(text -> text.replaceFirst(FIRST_ROW, "\"rows\":[[" + pools + ","))
        .contains("it names number %s of %s pools".formatted(pools, pools));
    changed(text -> text.replaceFirst(FIRST_ROW, "\"rows\":[[-2,")).contains("is -2");
    // Only a block may be of no pool.
    changed(text -> text.replaceFirst(FIRST_ROW, "\"rows\":[[0,0,0,0,-1,0,0,0,0,0],[0,"))
        .contains("is -1");
    changed(text -> text.replaceFirst(FIRST_ROW, "\"rows\":[[\"x\","))
        .contains("there is no number at $.blocks.rows[0][0]");
    changed(text -> text.replaceFirst(FIRST_ROW, "\"rows\":[[],[0,")).contains("$.blocks.rows[0]");
    changed(text -> text.replace("\"ageMicros\"", "\"age\"")).contains("columns");
    changed(text -> text.replace("\"poolHits\"", "\"hits\"")).contains("has no poolHits");
    changed(text -> text.replaceFirst("\"rows\":", "\"lines\":")).contains("$.blocks has no rows");
    String deep = "\"more\":" + "[".repeat(100_000) + "]".repeat(100_000);
    changed(text -> text.replaceFirst("\\{", "{" + deep + ",")).contains("it does not begin with");
    changed(text -> text.replaceFirst("\"blocks\":", deep + ",\"blocks\":"))
        .contains("no Tidepool snapshot");
    changed(text -> text + "{}").contains("foreign.json");
  }

  private Refusal changed(UnaryOperator<String> change) throws IOException {
    String text = Files.readString(snapshot);
    String changed = change.apply(text);
    assertThat(changed).isNotEqualTo(text);
    return refuses(Files.writeString(folder.resolve("foreign.json"), changed));
  }

  @Test
  void what_cannot_be_read_or_written_is_told() throws IOException {
    refuses(folder.resolve("missing.json")).contains("cannot be read: no such file or folder");
    refuses(folder).contains("cannot be read");
    byte[] binary = {'{', (byte) 0xff, (byte) 0xfe, 0, 1};
    refuses(Files.write(folder.resolve("binary.json"), binary)).contains("no text in UTF-8");
    Path nowhere = folder.resolve("nowhere").resolve("x.html");
    Command.Result result = Command.run("view", snapshot.toString(), "-o", nowhere.toString());
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err())
        .contains(
            "cannot write " + nowhere + ": the folder " + nowhere.getParent() + " does not exist");
    assertThat(Command.run("view").status()).isEqualTo(2);
  }

  @Test
  void what_never_ends_is_refused_by_its_beginning() {
    Path endless = Path.of("/dev/zero");
    assumeTrue(Files.exists(endless), "no endless file here");
    Command.Result result = Command.run("view", endless.toString());
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err()).contains("does not begin with");
  }

  private Refusal refuses(Path file) {
    Command.Result result = Command.run("view", file.toString());
    assertThat(result.status()).as(result.err()).isEqualTo(2);
    assertThat(result.out()).isEmpty();
    assertThat(result.err().lines()).as(result.err()).hasSize(1);
    assertThat(folder.resolve(file.getFileName().toString().replace(".json", ".html")))
        .doesNotExist();
    return new Refusal(result.err());
  }

  /** One line of the error stream. */
  private record Refusal(String text) {
    Refusal contains(String part) {
      assertThat(text).contains(part);
      return this;
    }
  }
}
