package dev.tidepool.spi.support;

import java.util.HexFormat;

/**
 * Escapes untrusted text in a message, such as a tag or the name of a file. Control characters
 * would affect the terminal or the log that shows them: an escape sequence clears a screen, a line
 * feed forges an entry, and U+202E reverses the text that follows.
 */
public final class VisibleText {
  private VisibleText() {}

  /** Returns the text with its control characters and line separators as Java's escapes. */
  public static String of(String text) {
    return escaped(text, "");
  }

  /** Like {@link #of}, but keeps tabs. */
  public static String withTabs(String text) {
    return escaped(text, "\t");
  }

  private static String escaped(String text, String kept) {
    StringBuilder visible = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (kept.indexOf(c) >= 0 || !acts(c)) {
        visible.append(c);
      } else {
        visible.append(
            switch (c) {
              case '\n' -> "\\n";
              case '\r' -> "\\r";
              case '\t' -> "\\t";
              default -> "\\u" + HexFormat.of().toHexDigits(c);
            });
      }
    }
    return visible.toString();
  }

  /**
   * Returns whether a character is an ISO control character, a line separator, or has Unicode's
   * property Bidi_Control.
   */
  private static boolean acts(char c) {
    return Character.isISOControl(c)
        || c == '\u061c'
        || c == '\u200e'
        || c == '\u200f'
        || (c >= '\u2028' && c <= '\u202e')
        || (c >= '\u2066' && c <= '\u2069');
  }
}
