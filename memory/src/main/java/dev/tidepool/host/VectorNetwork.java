package dev.tidepool.host;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Which vectors to choose from which, so that structs become columns or the way back. Every choice
 * takes its lanes from two vectors.
 *
 * <p>An even number of vectors is parted into lanes of even and of odd places, pair by pair, and
 * each half goes on by itself: the places are the same for all pairs and depths, so they stay in
 * registers, and eight columns take 24 choices. An odd number is chosen one vector after the other.
 */
final class VectorNetwork {
  /** A vector. */
  sealed interface Value {}

  /** One of those that are there at first. */
  record Given(int number) implements Value {}

  /**
   * Made from two others.
   *
   * @param places for each lane, which of the left vector's lanes, or of the right one's, which are
   *     counted behind these
   */
  record Chosen(List<Integer> places, Value left, Value right) implements Value {}

  /** Which vector a lane comes from, and which lane of that. */
  private record Source(int vector, int lane) {}

  private interface Route {
    Source source(int vector, int lane);
  }

  private final int lanes;

  VectorNetwork(int lanes) {
    this.lanes = lanes;
  }

  /** Vectors that are there at first, numbered on from one. */
  static List<Value> given(int first, int count) {
    List<Value> given = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      given.add(new Given(first + i));
    }
    return given;
  }

  /** All lists of places that values and what they are made of are chosen by, each once. */
  static List<List<Integer>> places(Collection<Value> values) {
    Set<List<Integer>> places = new LinkedHashSet<>();
    values.forEach(value -> collect(value, places));
    return List.copyOf(places);
  }

  private static void collect(Value value, Set<List<Integer>> places) {
    if (value instanceof Chosen(List<Integer> own, Value left, Value right)) {
      collect(left, places);
      collect(right, places);
      places.add(own);
    }
  }

  /** Columns of structs that lie in as many vectors as they have elements. */
  List<Value> split(List<Value> structs) {
    int width = structs.size();
    if (width % 2 != 0) {
      return chosen(structs, (column, lane) -> element(lane * width + column));
    }
    List<Value> even = new ArrayList<>();
    List<Value> odd = new ArrayList<>();
    for (int i = 0; i < width; i += 2) {
      even.add(new Chosen(everySecond(0), structs.get(i), structs.get(i + 1)));
      odd.add(new Chosen(everySecond(1), structs.get(i), structs.get(i + 1)));
    }
    List<Value> evenColumns = split(even);
    List<Value> oddColumns = split(odd);
    List<Value> columns = new ArrayList<>();
    for (int i = 0; i < width / 2; i++) {
      columns.add(evenColumns.get(i));
      columns.add(oddColumns.get(i));
    }
    return columns;
  }

  /** The way back of {@link #split}. */
  List<Value> join(List<Value> columns) {
    int width = columns.size();
    if (width % 2 != 0) {
      return chosen(
          columns,
          (vector, lane) -> {
            int element = vector * lanes + lane;
            return new Source(element % width, element / width);
          });
    }
    List<Value> even = new ArrayList<>();
    List<Value> odd = new ArrayList<>();
    for (int i = 0; i < width; i += 2) {
      even.add(columns.get(i));
      odd.add(columns.get(i + 1));
    }
    List<Value> evens = join(even);
    List<Value> odds = join(odd);
    List<Value> structs = new ArrayList<>();
    for (int i = 0; i < width / 2; i++) {
      structs.add(new Chosen(inTurns(0), evens.get(i), odds.get(i)));
      structs.add(new Chosen(inTurns(lanes / 2), evens.get(i), odds.get(i)));
    }
    return structs;
  }

  private Source element(int number) {
    return new Source(number / lanes, number % lanes);
  }

  private List<Integer> everySecond(int first) {
    List<Integer> places = new ArrayList<>();
    for (int lane = 0; lane < lanes; lane++) {
      places.add(first + 2 * lane);
    }
    return List.copyOf(places);
  }

  private List<Integer> inTurns(int first) {
    List<Integer> places = new ArrayList<>();
    for (int lane = 0; lane < lanes; lane++) {
      places.add(first + lane / 2 + lane % 2 * lanes);
    }
    return List.copyOf(places);
  }

  /** Each vector from the first two, and the lanes that are missing from one after the other. */
  private List<Value> chosen(List<Value> from, Route route) {
    if (from.size() == 1) {
      return from;
    }
    List<Value> made = new ArrayList<>();
    for (int vector = 0; vector < from.size(); vector++) {
      Value value = from.getFirst();
      for (int next = 1; next < from.size(); next++) {
        List<Integer> places = new ArrayList<>();
        for (int lane = 0; lane < lanes; lane++) {
          Source source = route.source(vector, lane);
          if (source.vector == next) {
            places.add(lanes + source.lane);
          } else {
            places.add(next == 1 && source.vector == 0 ? source.lane : lane);
          }
        }
        value = new Chosen(List.copyOf(places), value, from.get(next));
      }
      made.add(value);
    }
    return made;
  }
}
