package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.image.BufferedImage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The page in a browser: it draws, and it shows a leak. */
class PageInBrowserTest {
  /** The colour of the tag that gives nothing back. */
  private static final int FIRST_COLOUR = 0x2f7fc1;

  private static final Pattern ROW = Pattern.compile("<tr [^>]*>(.*?)</tr>");

  @TempDir private Path folder;
  private Browser browser;

  @BeforeEach
  void find() {
    browser = Browser.find(folder);
  }

  /** The address of the page of a program that leaks. */
  private String page(int events) {
    Path snapshot = Snapshots.withLeak(folder.resolve("leak.json"), events);
    assertThat(Command.run("view", snapshot.toString()).status()).isZero();
    return folder.resolve("leak.html").toUri().toString();
  }

  @Test
  void the_leak_stands_at_the_top_with_the_place_that_allocated_it() throws Exception {
    String elements = browser.elements(page(10_000));
    assertThat(elements).contains("data-state=\"ready\"");
    String suspect = elements.substring(elements.indexOf("id=\"suspect\""));
    assertThat(suspect.substring(0, suspect.indexOf("</p>")))
        .contains("Goes on growing: session cache", "100 allocated, 0 freed", "Snapshots.leak");
    String tags = elements.substring(elements.indexOf("id=\"tags\""));
    Matcher first = ROW.matcher(tags.substring(tags.indexOf("<tbody>")));
    assertThat(first.find()).isTrue();
    assertThat(first.group(1)).contains("session cache", "Snapshots.leak", "class=\"grows\"");
  }

  @Test
  void the_chosen_tag_shows_a_block_and_where_it_was_allocated() throws Exception {
    String elements = browser.elements(page(2000) + "#tag=session+cache");
    String selected = elements.substring(elements.indexOf("id=\"selected\""));
    assertThat(selected)
        .contains("Selected block", "session cache", "BYTE[70,000]", "slab")
        .containsPattern("<pre[^>]*>[^<]*Snapshots.leak");
  }

  @Test
  void a_tag_is_text_and_never_markup() throws Exception {
    String elements = browser.elements(page(2000));
    assertThat(elements)
        .contains("<title>Tidepool memory of cpu:0</title>")
        .contains("&lt;/script&gt;&lt;script&gt;document.title");
  }

  @Test
  void control_characters_of_tags_are_shown_and_do_nothing() throws Exception {
    Path snapshot = Snapshots.withLeak(folder.resolve("odd.json"), 2000);
    String json = Files.readString(snapshot);
    Files.writeString(snapshot, json.replace("\"session cache\"", "\"a\\u202eb\\u001b\\u2067\""));
    assertThat(Command.run("view", snapshot.toString()).status()).isZero();
    String address = folder.resolve("odd.html").toUri().toString();
    String elements = browser.elements(address + "#tag=a%E2%80%AEb%1B%E2%81%A7");
    String drawn = elements.substring(elements.indexOf("id=\"suspect\""));
    assertThat(drawn)
        .contains("Goes on growing: a\\u202eb\\u001b\\u2067<", "Selected block")
        .doesNotContain("\u202e", "\u001b", "\u2067");
  }

  @Test
  void a_hundred_thousand_events_are_drawn() throws Exception {
    String page = page(100_000);
    assertThat(browser.elements(page)).contains("The latest 100,000 allocations and frees");
    BufferedImage picture = ImageIO.read(browser.picture(page).toFile());
    assertThat(pixels(picture, FIRST_COLOUR)).as("the leak, by area").isGreaterThan(20_000);
    BufferedImage dark =
        ImageIO.read(browser.picture(page, "--blink-settings=preferredColorScheme=0").toFile());
    assertThat(brightness(dark)).isLessThan(100);
    assertThat(brightness(picture)).isGreaterThan(155);
  }

  /** How many pixels have about a colour. */
  private static int pixels(BufferedImage picture, int colour) {
    int count = 0;
    for (int y = 0; y < picture.getHeight(); y++) {
      for (int x = 0; x < picture.getWidth(); x++) {
        int pixel = picture.getRGB(x, y);
        boolean near = true;
        for (int shift = 0; shift <= 16; shift += 8) {
          near &= Math.abs((pixel >> shift & 0xff) - (colour >> shift & 0xff)) < 40;
        }
        count += near ? 1 : 0;
      }
    }
    return count;
  }

  private static long brightness(BufferedImage picture) {
    long sum = 0;
    for (int y = 0; y < picture.getHeight(); y++) {
      for (int x = 0; x < picture.getWidth(); x++) {
        sum += picture.getRGB(x, y) >> 8 & 0xff;
      }
    }
    return sum / picture.getHeight() / picture.getWidth();
  }

  @Test
  void the_totals_of_the_tables_agree() throws Exception {
    String script =
        """
        (async () => {
          while (document.body?.dataset.state !== 'ready') await new Promise(go => setTimeout(go, 20));
          const texts = cells => [...cells].map(cell => cell.textContent.replace(/ [▴▾]/, ''));
          const total = (table, head) => texts(document.querySelectorAll('#' + table + ' tfoot td'))
              [texts(document.querySelectorAll('#' + table + ' th')).indexOf(head)];
          const figure = name => [...document.querySelectorAll('#figures div')]
              .find(item => item.querySelector('dt').textContent === name).querySelector('dd').textContent;
          return [[total('tags', 'Live'), figure('live')], [total('tags', 'Buffers'), figure('buffers')],
              [total('tags', 'In blocks'), total('sites', 'In blocks'), total('totals', 'Live')],
              [total('totals', 'Idle'), figure('idle in pools')],
              [total('totals', 'In blocks'), figure('held of the system')]]
              .map(same => same.join(' = ')).join('\\n');
        })()
        """;
    assertThat(browser.evaluate(page(4000), script).lines())
        .hasSize(5)
        .allSatisfy(
            line -> {
              String[] totals = line.split(" = ");
              assertThat(totals).hasSizeGreaterThan(1).doesNotContain("", "undefined");
              assertThat(Set.of(totals[0])).containsAll(List.of(totals));
            });
  }

  @Test
  void the_live_page_follows_the_program() throws Exception {
    int[] asked = new int[1];
    Path file = Snapshots.withLeak(folder.resolve("live.json"), 2000);
    String json = SnapshotFile.read(file);
    try (PageServer server =
        new PageServer(
            "localhost",
            0,
            () -> {
              asked[0]++;
              return json.replace("\"reason\":\"request\"", "\"reason\":\"look " + asked[0] + "\"");
            })) {
      String elements = browser.elements(server.url());
      assertThat(asked[0]).as("snapshots that the page asked for").isGreaterThan(1);
      assertThat(elements)
          .contains("data-state=\"ready\"", "Goes on growing: session cache")
          .containsPattern("because look [2-9]");
    }
  }

  @Test
  void pointer_and_keyboard_find_a_block_and_headings_sort() throws Exception {
    String script =
        """
        (async () => {
          while (document.body?.dataset.state !== 'ready') await new Promise(go => setTimeout(go, 20));
          const at = id => document.getElementById(id), seen = [];
          const point = (id, kind, x, y) => {
            const place = at(id).getBoundingClientRect();
            at(id).dispatchEvent(new MouseEvent(kind,
                { clientX: place.left + x, clientY: place.top + y, bubbles: true }));
          };
          const selected = () => at('selected').textContent.replace(/\\s+/g, ' ');
          point('time', 'mousemove', 400, 100);
          seen.push('time: ' + at('tip').textContent);
          point('map', 'mousemove', 10, 8);
          seen.push('block: ' + at('tip').textContent);
          point('map', 'click', 10, 8);
          seen.push('clicked: ' + selected(), 'address: ' + location.hash);
          at('map').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
          seen.push('moved: ' + location.hash);
          const height = at('map').clientHeight;
          at('zoom').value = 2;
          at('zoom').dispatchEvent(new Event('input'));
          seen.push('zoomed: ' + (at('map').clientHeight > 2 * height));
          at('tags').querySelector('th button').click();
          seen.push('sorted: ' + at('tags').querySelector('tbody td').textContent);
          at('tags').querySelector('th button').click();
          seen.push('reversed: ' + at('tags').querySelector('tbody td').textContent);
          at('suspect').querySelector('button').click();
          seen.push('suspect: ' + selected());
          at('everything').click();
          seen.push('address: ' + location.hash);
          return seen.join('\\n');
        })()
        """;
    String seen = browser.evaluate(page(4000), script);
    assertThat(seen.lines())
        .anyMatch(line -> line.matches("time: .* ago: .*iB"))
        .anyMatch(line -> line.matches("block: .*iB (live|idle).* old"))
        .anyMatch(line -> line.matches("clicked: .*Selected block.* slab .*"))
        .anyMatch(line -> line.matches("moved: #block=.*"))
        .contains("zoomed: true", "sorted: " + Snapshots.EVIL_TAG, "reversed: stage 9")
        .anyMatch(line -> line.matches("suspect: .*session cache.*Snapshots.leak.*"));
    assertThat(seen).endsWith("address: ");
    assertThat(seen.lines().filter(line -> line.contains("#block=")).distinct()).hasSize(2);
  }
}
