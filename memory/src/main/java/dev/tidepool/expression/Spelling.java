package dev.tidepool.expression;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Finds what a misspelt name was meant to be. */
final class Spelling {
  private Spelling() {}

  /** {@code "; did you mean 'x'?"}, or nothing when no candidate is near. */
  static String suggestion(String name, Collection<String> candidates) {
    @Nullable String best = null;
    int bestDistance = Math.max(1, name.length() / 2) + 1;
    for (String candidate : candidates.stream().sorted().toList()) {
      int distance = distance(name, candidate);
      if (distance < bestDistance) {
        best = candidate;
        bestDistance = distance;
      }
    }
    return best == null ? "" : "; did you mean '" + best + "'?";
  }

  /** Levenshtein's distance. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int substituted = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(substituted, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }
}
