package dev.tidepool.expression.jvm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Operators on the values where languages differ, bit by bit against NumPy. */
class NumPyValuesTest {
  @Test
  void operatorsGiveNumPysBits() throws IOException {
    Map<List<String>, List<String[]>> cases =
        Reference.rows("values.tsv").stream()
            .collect(Collectors.groupingBy(row -> List.of(row[0], row[1])));
    List<String> wrong = new ArrayList<>();
    cases.forEach((key, rows) -> wrong.addAll(differences(key.get(0), key.get(1), rows)));

    assertThat(cases).hasSizeGreaterThan(90);
    assertThat(wrong).isEmpty();
  }

  private static List<String> differences(String op, String typeName, List<String[]> rows) {
    ScalarType type = ScalarType.ofNumpyName(typeName);
    ScalarType resultType = op.equals("<") || op.equals("==") ? ScalarType.BOOL : type;
    int n = rows.size();
    MemorySegment a = column(rows, 2, type);
    MemorySegment b = column(rows, 3, type);
    MemorySegment y = MemorySegment.ofArray(new long[n]);
    String source = Op.FUNCTIONS.containsKey(op) ? op + "(a, b)" : "a " + op + " b";
    new Evaluation("y = " + source)
        .array("a", type, a)
        .array("b", type, b)
        .array("y", resultType, y)
        .run(n);
    List<String> wrong = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      long expected = Long.parseUnsignedLong(rows.get(i)[4], 16);
      long found = get(y, i, resultType.byteSize());
      if (expected != found && !bothNaNOrZero(resultType, op, expected, found)) {
        wrong.add(String.join(" ", rows.get(i)) + " but was " + Long.toHexString(found));
      }
    }
    return wrong;
  }

  /** NaNs have many bits, and which zero min and max give is the processor's choice in NumPy. */
  private static boolean bothNaNOrZero(ScalarType type, String op, long a, long b) {
    if (!type.isFloating()) {
      return false;
    }
    double x =
        type == ScalarType.FLOAT64 ? Double.longBitsToDouble(a) : Float.intBitsToFloat((int) a);
    double y =
        type == ScalarType.FLOAT64 ? Double.longBitsToDouble(b) : Float.intBitsToFloat((int) b);
    return (Double.isNaN(x) && Double.isNaN(y))
        || ((op.equals("min") || op.equals("max")) && x == 0 && y == 0);
  }

  private static MemorySegment column(List<String[]> rows, int column, ScalarType type) {
    int size = type.byteSize();
    MemorySegment memory = MemorySegment.ofArray(new byte[rows.size() * size]);
    for (int i = 0; i < rows.size(); i++) {
      long bits = Long.parseUnsignedLong(rows.get(i)[column], 16);
      for (int k = 0; k < size; k++) {
        memory.set(ValueLayout.JAVA_BYTE, (long) i * size + k, (byte) (bits >>> (8 * k)));
      }
    }
    return memory;
  }

  private static long get(MemorySegment memory, int index, int size) {
    long bits = 0;
    for (int k = 0; k < size; k++) {
      bits |= (memory.get(ValueLayout.JAVA_BYTE, (long) index * size + k) & 0xffL) << (8 * k);
    }
    return bits;
  }
}
