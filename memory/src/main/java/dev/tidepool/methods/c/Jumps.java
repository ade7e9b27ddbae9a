package dev.tidepool.methods.c;

import dev.tidepool.methods.tree.Statement.Label;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Translates jumps of a tree to {@code break} and {@code continue} of C, which reach only the
 * innermost loop or block. A jump further out is recorded in a variable, and breaks. The variable
 * is tested after each loop or block that the jump leaves.
 */
final class Jumps {
  /** A loop or block around the current statement, and the jumps in it that leave it. */
  private record Around(Label label, boolean isLoop, Set<Integer> leaving) {}

  /**
   * The start of a jump.
   *
   * @param jump the number to record; 0 if the jump leaves only one loop or block
   * @param repeats true for {@code continue}, false for {@code break}
   */
  record Way(int jump, boolean repeats) {}

  /**
   * The continuation of a jump after a loop or block that it left.
   *
   * @param jump its number
   * @param arrives whether this is the last step of the jump
   */
  record Onward(int jump, boolean arrives, boolean repeats) {}

  private final List<Around> around = new ArrayList<>();
  private final Set<Integer> further = new TreeSet<>();

  void enter(Label label, boolean isLoop) {
    around.add(new Around(label, isLoop, new TreeSet<>()));
  }

  /** Returns a jump to the end of the statement with a label, or to the start of a loop. */
  Way jump(Label label, boolean repeats) {
    Around innermost = around.getLast();
    if (innermost.label().equals(label)) {
      return new Way(0, repeats);
    }
    int jump = number(label, repeats);
    further.add(jump);
    innermost.leaving().add(jump);
    return new Way(jump, false);
  }

  /** Returns a number greater than 0; odd if the jump repeats a loop. */
  private static int number(Label label, boolean repeats) {
    return 2 * label.id() + (repeats ? 3 : 2);
  }

  /** Ends the innermost loop or block; returns the jumps that continue after it. */
  List<Onward> leave() {
    Around ended = around.removeLast();
    List<Onward> onwards = new ArrayList<>();
    for (int jump : ended.leaving()) {
      Around next = around.getLast();
      boolean arrives = next.label().id() == jump / 2 - 1;
      onwards.add(new Onward(jump, arrives, arrives && jump % 2 == 1));
      if (!arrives) {
        next.leaving().add(jump);
      }
    }
    return onwards;
  }

  /** Returns the numbers of all jumps that leave more than one loop or block. */
  Set<Integer> further() {
    return further;
  }
}
