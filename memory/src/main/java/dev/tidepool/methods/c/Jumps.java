package dev.tidepool.methods.c;

import dev.tidepool.methods.tree.Statement.Label;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Jumps of a tree as {@code break} and {@code continue} of C, which reach the innermost loop or
 * block alone. A jump further out sets a flag and breaks; behind each loop or block that it leaves,
 * the flag is looked at.
 */
final class Jumps {
  /** A loop or block around the current statement, and the jumps in it that leave it. */
  private record Around(Label label, boolean isLoop, Set<Integer> leaving) {}

  /**
   * How a jump begins.
   *
   * @param flag to be set; negative if the jump leaves one loop or block
   * @param repeats whether it is {@code continue}, or else {@code break}
   */
  record Way(int flag, boolean repeats) {}

  /**
   * How a jump goes on behind a loop or block that it left.
   *
   * @param arrives whether this is the last one
   */
  record Onward(int flag, boolean arrives, boolean repeats) {}

  private final List<Around> around = new ArrayList<>();
  private final Set<Integer> flags = new TreeSet<>();

  void enter(Label label, boolean isLoop) {
    around.add(new Around(label, isLoop, new TreeSet<>()));
  }

  /** A jump behind the statement of a label, or to the start of a loop. */
  Way jump(Label label, boolean repeats) {
    Around innermost = around.getLast();
    if (innermost.label().equals(label)) {
      return new Way(-1, repeats);
    }
    int flag = flag(label, repeats);
    flags.add(flag);
    innermost.leaving().add(flag);
    return new Way(flag, false);
  }

  private static int flag(Label label, boolean repeats) {
    return 2 * label.id() + (repeats ? 1 : 0);
  }

  /** Ends the innermost loop or block; returns the jumps that go on behind it. */
  List<Onward> leave() {
    Around ended = around.removeLast();
    List<Onward> onwards = new ArrayList<>();
    for (int flag : ended.leaving()) {
      Around next = around.getLast();
      boolean arrives = next.label().id() == flag / 2;
      onwards.add(new Onward(flag, arrives, arrives && flag % 2 == 1));
      if (!arrives) {
        next.leaving().add(flag);
      }
    }
    return onwards;
  }

  /** The flags that were used. */
  Set<Integer> flags() {
    return flags;
  }
}
