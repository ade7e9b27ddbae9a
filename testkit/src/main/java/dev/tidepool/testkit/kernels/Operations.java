package dev.tidepool.testkit.kernels;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Operators, conversions and functions whose results are the same on every device. Each line of the
 * table has the letter of the result's type and the text. In the text, a letter in angle brackets
 * is an operand of that type, and {@code <n>} an operand of any numeric type.
 */
final class Operations {
  // floatToRawIntBits and the sign of copySign are omitted, because they expose the bits of a NaN,
  // which are unspecified. In (float) Math.sqrt((float) x) the inner cast is needed: Java converts
  // the operands of a conditional argument to double, and some accelerators have no doubles.
  private static final String TABLE =
      """
      i (<i> + <i>)
      i (<i> - <i>)
      i (<i> * <i>)
      i (<i> & <i>)
      i (<i> | <i>)
      i (<i> ^ <i>)
      i (<i> << <i>)
      i (<i> >> <i>)
      i (<i> >>> <i>)
      i (<i> >>> <l>)
      i (<i> << <l>)
      i (<i> / (<i> | 1))
      i (<i> % (<i> | 1))
      i (<i> / 7)
      i (<i> % -8)
      i (-<i>)
      i (~<i>)
      i ((int) <l>)
      i ((int) <f>)
      i ((int) <d>)
      i <b>
      i <s>
      i <c>
      i (<z> ? <i> : <i>)
      i (<z> ? <b> : <s>)
      i Math.abs(<i>)
      i Math.min(<i>, <i>)
      i Math.max(<i>, <i>)
      i Math.round(<f>)
      i Math.floorMod(<i>, (<i> | 1))
      i Math.floorDiv(<i>, (<i> | 1))
      i Math.floorMod(<l>, (<i> | 1))
      i Integer.bitCount(<i>)
      i Integer.numberOfLeadingZeros(<i>)
      i Integer.numberOfTrailingZeros(<i>)
      i Integer.highestOneBit(<i>)
      i Integer.lowestOneBit(<i>)
      i Integer.reverse(<i>)
      i Integer.reverseBytes(<i>)
      i Integer.rotateLeft(<i>, <i>)
      i Integer.rotateRight(<i>, <i>)
      i Integer.signum(<i>)
      i Integer.compare(<i>, <i>)
      i Integer.compareUnsigned(<i>, <i>)
      i Long.bitCount(<l>)
      i Long.numberOfLeadingZeros(<l>)
      i Long.numberOfTrailingZeros(<l>)
      i Long.signum(<l>)
      i Long.compare(<l>, <l>)
      i Float.floatToIntBits(<f>)
      i Float.floatToRawIntBits(real(<f>))
      i Float.compare(<f>, <f>)
      i Double.compare(<d>, <d>)
      i Byte.toUnsignedInt(<b>)
      i Short.toUnsignedInt(<s>)
      b ((byte) <n>)
      s ((short) <n>)
      c ((char) <n>)
      s Short.reverseBytes(<s>)
      l (<l> + <l>)
      l (<l> - <i>)
      l (<i> + <l>)
      l (<l> * <l>)
      l (<l> & <l>)
      l (<l> | <l>)
      l (<l> ^ <i>)
      l (<l> << <i>)
      l (<l> >> <l>)
      l (<l> >>> <i>)
      l (<l> / (<l> | 1))
      l (<l> % (<l> | 1))
      l (<l> / -10)
      l (-<l>)
      l (~<l>)
      l ((long) <i>)
      l ((long) <f>)
      l ((long) <d>)
      l (<z> ? <l> : <l>)
      l Math.abs(<l>)
      l Math.min(<l>, <l>)
      l Math.max(<l>, <l>)
      l Math.round(<d>)
      l Math.floorMod(<l>, (<l> | 1))
      l Math.floorDiv(<l>, (<i> | 1))
      l Math.multiplyHigh(<l>, <l>)
      l Math.multiplyFull(<i>, <i>)
      l Long.reverse(<l>)
      l Long.reverseBytes(<l>)
      l Long.rotateLeft(<l>, <i>)
      l Long.highestOneBit(<l>)
      l Long.lowestOneBit(<l>)
      l Integer.toUnsignedLong(<i>)
      l Double.doubleToLongBits(<d>)
      l Double.doubleToRawLongBits(real(<d>))
      f (<f> + <f>)
      f (<f> - <f>)
      f (<f> * <f>)
      f (<f> / <f>)
      f (<f> % <f>)
      f (<f> + <i>)
      f (<l> * <f>)
      f (-<f>)
      f ((float) <i>)
      f ((float) <l>)
      f ((float) <d>)
      f ((float) Math.sqrt((float) (<f>)))
      f (<z> ? <f> : <f>)
      f Math.abs(<f>)
      f Math.min(<f>, <f>)
      f Math.max(<f>, <f>)
      f Math.fma(<f>, <f>, <f>)
      f Math.signum(<f>)
      f Math.copySign(<f>, real(<f>))
      f ((float) Math.floor((float) (<f>)))
      f ((float) Math.ceil((float) (<f>)))
      f ((float) Math.rint((float) (<f>)))
      f Float.intBitsToFloat(<i>)
      d (<d> + <d>)
      d (<d> - <f>)
      d (<d> * <d>)
      d (<i> / <d>)
      d (<d> % <d>)
      d (-<d>)
      d ((double) <i>)
      d ((double) <l>)
      d ((double) <f>)
      d (<z> ? <d> : <d>)
      d Math.sqrt(<d>)
      d Math.abs(<d>)
      d Math.min(<d>, <d>)
      d Math.max(<d>, <d>)
      d Math.fma(<d>, <d>, <d>)
      d Math.floor(<d>)
      d Math.ceil(<d>)
      d Math.rint(<d>)
      d Math.signum(<d>)
      d Math.copySign(<d>, real(<d>))
      d Double.longBitsToDouble(<l>)
      z (<i> < <i>)
      z (<i> >= <i>)
      z (<i> == <i>)
      z (<i> != <l>)
      z (<l> <= <l>)
      z (<l> > <i>)
      z (<f> < <f>)
      z (<f> >= <f>)
      z (<f> == <f>)
      z (<d> > <d>)
      z (<d> <= <f>)
      z (<d> != <d>)
      z (<z> && <z>)
      z (<z> || <z>)
      z (<z> & <z>)
      z (<z> | <z>)
      z (<z> ^ <z>)
      z (<z> == <z>)
      z (!<z>)
      z (<z> ? <z> : <z>)
      z Float.isNaN(<f>)
      z Double.isInfinite(<d>)
      z Float.isFinite(<f>)
      """;

  /** The texts between operands, one more than there are operands. */
  record Operation(List<String> texts, String operands) {}

  private static final Map<Kind, List<Operation>> ALL = all();

  private Operations() {}

  private static Map<Kind, List<Operation>> all() {
    Map<Kind, List<Operation>> all = new EnumMap<>(Kind.class);
    for (String line : TABLE.lines().toList()) {
      Kind result = Kind.of(line.charAt(0));
      all.computeIfAbsent(result, _ -> new ArrayList<>()).add(parsed(line.substring(2)));
    }
    return all;
  }

  private static Operation parsed(String text) {
    List<String> texts = new ArrayList<>();
    StringBuilder operands = new StringBuilder();
    int from = 0;
    for (int at = 0; at + 2 < text.length(); at++) {
      boolean isOperand =
          text.charAt(at) == '<'
              && Character.isLetter(text.charAt(at + 1))
              && text.charAt(at + 2) == '>';
      if (isOperand) {
        texts.add(text.substring(from, at));
        operands.append(text.charAt(at + 1));
        from = at + 3;
      }
    }
    texts.add(text.substring(from));
    return new Operation(texts, operands.toString());
  }

  /** Returns the operations with a result of a type. */
  static List<Operation> of(Kind result) {
    return ALL.getOrDefault(result, List.of());
  }
}
