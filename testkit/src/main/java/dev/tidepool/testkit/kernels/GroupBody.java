package dev.tidepool.testkit.kernels;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * A random kernel method whose items share group memory and wait for each other at barriers.
 *
 * <p>The result does not depend on the order of the items. An item stores only to its own elements,
 * or adds to counts. A barrier separates a store to group memory from a load by another item.
 *
 * @param seed determines the method
 * @param source the Java declaration of the method
 * @param parts the number of parts that can be omitted
 * @param range the items and their groups
 */
record GroupBody(long seed, String source, int parts, KernelRange range) {
  /** The number of items of a launch. */
  static final int ITEMS = 16;

  /** The other methods of a class with these kernels. */
  static final String HELPERS =
      """
        private static int place(int value, int[] in) {
          if (value < 0) {
            return 9;
          }
          for (int k = 0; k < 8; k++) {
            if (in[k] == value) {
              return k;
            }
          }
          return 2;
        }

        private static int exchange(
            dev.tidepool.WorkItem item, int[] shared, int local, int other, int value) {
          shared[local] = value;
          item.barrier();
          int found = shared[other];
          item.barrier();
          return found;
        }
      """;

  /** Returns the kernel of a seed without some of its parts. */
  static GroupBody of(long seed, Set<Integer> leftOut) {
    Decisions decisions = new Decisions(seed, leftOut, Kinds.ALL);
    // Two are rare, because PoCL refuses groups of two items.
    int group = decisions.chance(8) ? 2 : 4 << decisions.next(3);
    int dimensions = decisions.chance(40) ? 1 : decisions.between(2, 3);
    KernelRange range = KernelRange.of(decisions, dimensions, ITEMS / group, group);
    Writer writer = new Writer(decisions, group);
    String source =
        """

          static void %s(dev.tidepool.WorkItem item, int n, int[] in, int[] counts, int[] out) {
            int i = %s;
            int l = %s;
            int v = l;
            int r = n & 3;
            int[] own = new int[4];
            int[] shared = item.localInts(%s);
            int[] total = item.localInts(1);
            shared[l] = 0;
            if (l == 0) {
              total[0] = 1;
            }
        %s    out[i] += v;
          }
        """
            .formatted(
                method(seed),
                number("global", dimensions),
                number("local", dimensions),
                group,
                writer.body().indent(4));
    return new GroupBody(seed, source, decisions.parts(), range);
  }

  /** Returns the number of an item in the range or its group, counted along dimension 0 first. */
  private static String number(String of, int dimensions) {
    String number = "item." + of + "Id(" + (dimensions - 1) + ")";
    String size = of.equals("local") ? "item.groupSize" : "item.globalSize";
    for (int i = dimensions - 2; i >= 0; i--) {
      number = "(%s) * %s(%s) + item.%sId(%s)".formatted(number, size, i, of, i);
    }
    return dimensions == 1 ? "(int) " + number : "(int) (" + number + ")";
  }

  /** Returns the name of the method. */
  String method() {
    return method(seed);
  }

  private static String method(long seed) {
    return "group" + Long.toUnsignedString(seed);
  }

  /** Writes the statements of one kernel. */
  private static final class Writer {
    private static final int DEEPEST = 3;

    private final Decisions decisions;
    private final int group;
    private final boolean fails;
    // Some kernels have nested barriers in several conditions and loops, which PoCL computes wrong.
    private final boolean nests;
    private int left;
    private int names;

    Writer(Decisions decisions, int group) {
      this.decisions = decisions;
      this.group = group;
      this.fails = decisions.chance(20);
      this.nests = decisions.chance(15);
      this.left = decisions.between(4, 24);
    }

    String body() {
      return together(0, false, false, List.of())
          + meeting()
          + together(0, false, false, List.of());
    }

    private String name(String kind) {
      return kind + names++;
    }

    private String part(Supplier<String> writer) {
      left--;
      boolean leavesOut = decisions.leavesOut();
      String text = writer.get();
      return leavesOut ? "" : text;
    }

    private static String block(String head, String body) {
      return head + " {\n" + body.indent(2) + "}\n";
    }

    // Statements that all items of a group reach together.

    private String together(int depth, boolean inCondition, boolean inLoop, List<String> jumps) {
      StringBuilder text = new StringBuilder();
      int count = decisions.between(1, 3);
      for (int i = 0; i < count; i++) {
        text.append(part(() -> statement(depth, inCondition, inLoop, jumps)));
      }
      return text.toString();
    }

    private String statement(int depth, boolean inCondition, boolean inLoop, List<String> jumps) {
      boolean meets = nests || !(inCondition && inLoop);
      boolean deeper = depth < DEEPEST && left > 0;
      int choice = decisions.next(24);
      if (choice < 4) {
        return alone(0, List.of());
      } else if (choice < 10 || !deeper) {
        return meets ? meeting() : simple();
      } else if (choice < 12) {
        return nests || !inLoop ? condition(depth, inLoop, jumps) : simple();
      } else if (choice < 16) {
        return nests || !inCondition ? loop(depth, inCondition, jumps) : simple();
      } else if (choice < 17) {
        return "if (" + itemReturns() + ") {\n  return;\n}\n";
      } else if (choice < 18) {
        return block("if (" + sameForAll() + ")", "return;");
      } else if (choice < 20) {
        return jumps.isEmpty()
            ? uniformVariable()
            : block("if (" + sameForAll() + ")", decisions.pick(jumps) + ";");
      } else if (choice < 22) {
        return nests || !inLoop ? escape(depth, inLoop, jumps) : simple();
      }
      return uniformVariable();
    }

    private String condition(int depth, boolean inLoop, List<String> jumps) {
      String text = block("if (" + sameForAll() + ")", together(depth + 1, true, inLoop, jumps));
      return decisions.chance(50)
          ? text
          : text.stripTrailing() + block(" else", together(depth + 1, true, inLoop, jumps));
    }

    private String loop(int depth, boolean inCondition, List<String> jumps) {
      String counter = name("k");
      String label = name("loop");
      List<String> inside = new ArrayList<>(jumps);
      inside.add("break " + label);
      if (nests) {
        inside.add("continue " + label);
      }
      String body =
          together(depth + 1, inCondition, true, inside) + alone(1, List.of("continue " + label));
      String bound =
          decisions.pick(List.of("2", "3", "(n & 3)", "(in[1] & 3)", "in[1] % 3", "12 / (n + 2)"));
      return switch (decisions.next(4)) {
        case 0 ->
            "int "
                + counter
                + " = 0;\n"
                + label
                + ":\n"
                + block("while (" + counter + "++ < " + bound + ")", body);
        case 1 ->
            "int "
                + counter
                + " = 0;\n"
                + label
                + ":\n"
                + block("do", body).stripTrailing()
                + " while (++"
                + counter
                + " < "
                + bound
                + ");\n";
        default ->
            label
                + ":\n"
                + block("for (int %1$s = 0; %1$s < %2$s; %1$s++)".formatted(counter, bound), body);
      };
    }

    /** Returns a block that all items leave, or that some items leave after its last barrier. */
    private String escape(int depth, boolean inLoop, List<String> jumps) {
      String label = name("block");
      String leave = "break " + label;
      if (decisions.chance(50)) {
        String first = together(depth + 1, true, inLoop, jumps);
        String jump = block("if (" + sameForAll() + ")", leave + ";");
        return block(label + ":", first + jump + together(depth + 1, true, inLoop, jumps));
      }
      String inner = together(depth + 1, true, inLoop, jumps) + alone(1, List.of(leave));
      return block(
          label + ":", block("if (" + sameForAll() + ")", inner) + alone(1, List.of(leave)));
    }

    private String uniformVariable() {
      return decisions.chance(50) ? "r = (r + n) & 3;\n" : "r = (r + in[r]) & 3;\n";
    }

    /** Returns barriers, and between them loads of elements that other items have stored. */
    private String meeting() {
      int other = decisions.between(1, group - 1);
      return switch (decisions.next(7)) {
        case 0, 1 ->
            """
            shared[l] = out[i] + v;
            item.barrier();
            out[i] += shared[(l + %s) & %s];
            item.barrier();
            """
                .formatted(other, group - 1);
        case 2 ->
            """
            item.barrier();
            shared[l] = v;
            item.barrier();
            if (l == 0 || shared[l - 1] > 4) {
              out[i]++;
            }
            v += shared[%s - l];
            item.barrier();
            """
                .formatted(group - 1);
        case 3 ->
            """
            shared[l] = v & 255;
            item.barrier();
            for (int step = (int) (%s) / 2; step > 0; step /= 2) {
              if (l < step) {
                shared[l] += shared[l + step];
              }
              item.barrier();
            }
            v ^= shared[0];
            item.barrier();
            """
                .formatted("item.groupSize(0) * item.groupSize(1) * item.groupSize(2)");
        case 4 ->
            """
            item.barrier();
            item.atomicAdd(total, 0, v & 15);
            item.barrier();
            v += total[0];
            item.barrier();
            """;
        case 5 -> "v ^= exchange(item, shared, l, (l + %s) & %s, v);\n".formatted(other, group - 1);
        default -> "item.barrier();\n";
      };
    }

    // Statements of single items.

    /**
     * Returns statements that some items may not reach.
     *
     * @param jumps the jumps that some items may take
     */
    private String alone(int depth, List<String> jumps) {
      StringBuilder text = new StringBuilder();
      int count = decisions.between(1, 3);
      for (int i = 0; i < count; i++) {
        text.append(part(() -> own(depth, jumps)));
      }
      return text.toString();
    }

    private String own(int depth, List<String> jumps) {
      int choice = decisions.next(12);
      if (choice < 5 || depth >= DEEPEST || left <= 0) {
        return simple();
      } else if (choice < 6) {
        return block("if (" + ofItem() + ")", alone(depth + 1, jumps)).stripTrailing()
            + block(" else", alone(depth + 1, jumps));
      } else if (choice < 7) {
        String counter = name("k");
        String jump = decisions.chance(50) ? "break;" : "continue;";
        String body = alone(depth + 1, jumps) + block("if (" + ofItem() + ")", jump) + simple();
        return block("for (int %1$s = 0; %1$s < (out[i] & 3); %1$s++)".formatted(counter), body);
      } else if (choice < 8) {
        String label = name("block");
        return block(label + ":", alone(depth + 1, List.of("break " + label)) + simple());
      } else if (choice < 9 && decisions.chance(40)) {
        return block("if (" + ofItem() + ")", "out[i] = -1;\nreturn;");
      } else if (choice < 11 && !jumps.isEmpty()) {
        return block("if (" + ofItem() + ")", decisions.pick(jumps) + ";");
      }
      return block("if (" + ofItem() + ")", alone(depth + 1, jumps));
    }

    private String simple() {
      return decisions.pick(
              List.of(
                  "out[i] = out[i] * 3 + 5",
                  "v += out[i] & 7",
                  "v ^= in[i] + 3",
                  "out[i] += v",
                  "own[v & 3] += out[i]",
                  "out[i] ^= own[l & 3]",
                  "out[i] += r",
                  "item.atomicAdd(counts, v & 3, 1)",
                  fails ? "own[v & 7] += in[i]" : "v += place(v, in)",
                  fails ? "v += 100 / (out[i] & 7)" : "v -= out[i] >> 2"))
          + ";\n";
    }

    private String itemReturns() {
      return decisions.pick(
          List.of(
              "i == 2",
              "item.localId(1) == 1",
              "item.globalId(2) > n",
              "in[i] > 70",
              "out[i] == 7",
              "i > n || l > 2",
              "!(i < n + 3 && l < 3)"));
    }

    private String sameForAll() {
      return decisions.pick(
          List.of(
              "n > 3",
              "n == 5",
              "in[0] > 20",
              "n > 2 && in[1] > 30",
              "n < 0 || in[2] > 10",
              "(int) item.groupId(0) == 0",
              "item.groupId(1) > item.groupId(2)",
              "item.globalSize(1) > 2 || in[5] > 60",
              "r == 1",
              "in[(int) item.groupId(0)] > 50",
              "in[(int) item.groupId(1)] > 50",
              "in[n] % 3 == 1",
              "r / (n + 1) == 0 || in[3] > 60",
              fails ? "in[n + 11] > 40" : "in[n + 1] > 40",
              fails ? "in[4] % (n - 1) == 0" : "in[4] % 2 == 0"));
    }

    private String ofItem() {
      return decisions.pick(
          List.of(
              "(out[i] & 1) == 0",
              "l == 1",
              "i > 3",
              "item.localId(1) == 0 && item.globalId(0) > 1",
              "item.localId(2) < item.localId(0)",
              "in[i] > 50",
              "(out[i] & 2) == 0 || in[(i + 1) & 15] > 40",
              "l < 2 && in[l] > 20",
              "in[i] > 30 || l == 0",
              "v > 3 && out[i] > 2",
              "!(in[i] < 60) || v == 2 && l != 3",
              "place(out[i], in) > 3",
              "l == 0 || own[(l - 1) & 3] > 3",
              "l < 3 && in[i + 1 & 15] / (l + 1) > 9",
              "item.atomicAdd(counts, 4 + i, 1) > 3 || out[i] > 4",
              fails ? "in[i + n] > 40" : "in[i] + n > 40"));
    }
  }
}
