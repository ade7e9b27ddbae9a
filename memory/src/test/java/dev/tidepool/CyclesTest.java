package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Classes that use one another in a circle can only be understood together, so there are few in
 * each circle. A sealed type and those that it permits are one set, of any size, whose members do
 * not use each other.
 *
 * @see LayersTest
 */
class CyclesTest {
  /** The most classes that may form one cycle. */
  private static final int MOST = 6;

  @Test
  void noCycleHasMoreClasses() throws Exception {
    List<List<String>> tooLarge =
        cycles(ClassUses.of(ClassUses.library())).stream()
            .filter(cycle -> cycle.size() > MOST && !isSealedSet(cycle))
            .toList();
    assertThat(tooLarge).isEmpty();
  }

  private static boolean isSealedSet(List<String> cycle) {
    return cycle.stream().anyMatch(name -> permitsAll(loaded(name), cycle));
  }

  private static boolean permitsAll(Class<?> type, List<String> cycle) {
    if (!type.isSealed()) {
      return false;
    }
    TreeSet<String> set = new TreeSet<>(List.of(type.getName()));
    for (Class<?> permitted : type.getPermittedSubclasses()) {
      set.add(permitted.getName());
    }
    return set.containsAll(cycle);
  }

  private static Class<?> loaded(String name) {
    try {
      return Class.forName(name, false, CyclesTest.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aSealedTypeAndThoseThatItPermitsAreOneSet() {
    List<String> nodes =
        List.of(
            "dev.tidepool.diagnostics.DiagnosticReport", "dev.tidepool.diagnostics.GuardReport");
    assertThat(isSealedSet(nodes)).isTrue();
    assertThat(isSealedSet(List.of(nodes.getFirst(), "dev.tidepool.Tidepool"))).isFalse();
    assertThat(isSealedSet(List.of(nodes.getLast()))).isFalse();
  }

  @Test
  void aCycleThroughSeveralClassesIsFound() {
    Map<String, TreeSet<String>> uses =
        Map.of(
            "p.A", new TreeSet<>(List.of("p.B", "p.D")),
            "p.B", new TreeSet<>(List.of("p.C", "elsewhere.X")),
            "p.C", new TreeSet<>(List.of("p.A", "p.C")),
            "p.D", new TreeSet<>(List.of("p.D")));
    assertThat(cycles(uses))
        .containsExactlyInAnyOrder(List.of("p.A", "p.B", "p.C"), List.of("p.D"));
  }

  /**
   * Returns the strongly connected components of a graph, each sorted (Tarjan, "Depth-first search
   * and linear graph algorithms", 1972).
   */
  private static List<List<String>> cycles(Map<String, TreeSet<String>> uses) {
    Search search = new Search(uses);
    uses.keySet().forEach(search::visit);
    return search.found;
  }

  private static final class Search {
    private final Map<String, TreeSet<String>> uses;
    private final Map<String, Integer> numbers = new HashMap<>();
    private final Map<String, Integer> lowest = new HashMap<>();
    private final Deque<String> open = new ArrayDeque<>();
    private final List<List<String>> found = new ArrayList<>();

    Search(Map<String, TreeSet<String>> uses) {
      this.uses = uses;
    }

    void visit(String name) {
      if (numbers.containsKey(name)) {
        return;
      }
      int number = numbers.size();
      numbers.put(name, number);
      lowest.put(name, number);
      open.push(name);
      for (String used : uses.getOrDefault(name, new TreeSet<>())) {
        boolean isNew = !numbers.containsKey(used);
        if (isNew && uses.containsKey(used)) {
          visit(used);
          lowest.merge(name, lowest.get(used), Math::min);
        } else if (open.contains(used)) {
          lowest.merge(name, numbers.get(used), Math::min);
        }
      }
      if (lowest.get(name) == number) {
        take(name);
      }
    }

    private void take(String first) {
      List<String> cycle = new ArrayList<>();
      String name;
      do {
        name = open.pop();
        cycle.add(name);
      } while (!name.equals(first));
      Collections.sort(cycle);
      found.add(cycle);
    }
  }
}
