package dev.tidepool.expression.syntax;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Suggests the name that was meant by a misspelt one. */
public final class Spelling {
  private Spelling() {}

  /** Returns {@code "; did you mean 'x'?"}, or an empty string if no candidate is near. */
  public static String suggestion(String name, Collection<String> candidates) {
    @Nullable String best = null;
    // A name with half its letters wrong is another word, and so is any other single letter.
    int bestDistance = name.length() == 1 ? 0 : Math.max(1, (name.length() + 1) / 3) + 1;
    for (String candidate : candidates.stream().sorted().toList()) {
      int distance = distance(name, candidate);
      if (distance < bestDistance) {
        best = candidate;
        bestDistance = distance;
      }
    }
    return best == null ? "" : "; did you mean '" + best + "'?";
  }

  /** Returns how many letters are left out, added, replaced, or swapped with their neighbour. */
  private static int distance(String a, String b) {
    int[][] best = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          best[i][j] = i + j;
          continue;
        }
        int replaced = best[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        best[i][j] = Math.min(replaced, 1 + Math.min(best[i - 1][j], best[i][j - 1]));
        boolean swapped =
            i > 1
                && j > 1
                && a.charAt(i - 1) == b.charAt(j - 2)
                && a.charAt(i - 2) == b.charAt(j - 1);
        if (swapped) {
          best[i][j] = Math.min(best[i][j], best[i - 2][j - 2] + 1);
        }
      }
    }
    return best[a.length()][b.length()];
  }
}
