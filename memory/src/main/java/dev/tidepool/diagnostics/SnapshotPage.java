package dev.tidepool.diagnostics;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Objects;

/**
 * The page that displays a snapshot: one HTML file with its style, its script and its data, which
 * loads nothing else from the network. Its content security policy allows only that script.
 */
public final class SnapshotPage {
  private SnapshotPage() {}

  /**
   * Returns a page for one snapshot.
   *
   * @param json the JSON form, as {@link Snapshot#toJson()} returns it
   */
  public static String of(String json) {
    // JSON contains this character only in strings, where it may be escaped.
    return page("file", "'none'", json.replace("<", "\\u003c"));
  }

  /**
   * Returns a page that repeatedly loads {@code snapshot.json} from its server, relative to its own
   * address.
   */
  public static String live() {
    return page("live", "'self'", "");
  }

  private static String page(String source, String connections, String data) {
    String script = part("page.js");
    String policy =
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline';"
            + " script-src 'sha256-"
            + sha256(script)
            + "'; connect-src "
            + connections;
    return part("page.html")
        .replace("{{policy}}", policy)
        .replace("{{style}}", part("page.css"))
        .replace("{{source}}", source)
        .replace("{{script}}", script)
        // Last, so that no text of the data is taken for a placeholder.
        .replace("{{data}}", data);
  }

  private static String part(String name) {
    try (InputStream stream = SnapshotPage.class.getResourceAsStream("page/" + name)) {
      return new String(
          Objects.requireNonNull(stream, name + " is packed with this class").readAllBytes(),
          StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String sha256(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return Base64.getEncoder().encodeToString(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
