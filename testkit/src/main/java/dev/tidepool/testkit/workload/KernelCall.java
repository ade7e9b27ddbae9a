package dev.tidepool.testkit.workload;

import dev.tidepool.Arguments;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.testkit.workload.History.Effect;
import dev.tidepool.testkit.workload.Operation.Kind;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * One random kernel over a slice {@code y} of one slot, and possibly a slice or array {@code x}.
 * The model has computed the same.
 */
record KernelCall(
    Form form,
    Arguments arguments,
    Effect effect,
    UnifiedBuffer<int[]> y,
    @Nullable UnifiedBuffer<int[]> x) {

  /** The computation of a kernel. */
  enum Form {
    IN_PLACE("y = y * 3 + a"),
    OUT("y = a"),
    OF_TWO("y = y - x + a"),
    OF_ARRAY("y = x + a");

    final String expression;

    Form(String expression) {
      this.expression = expression;
    }

    int compute(int y, int x, int a) {
      return switch (this) {
        case IN_PLACE -> y * 3 + a;
        case OUT -> a;
        case OF_TWO -> y - x + a;
        case OF_ARRAY -> x + a;
      };
    }
  }

  /** Returns the computation of an operation. */
  static Form formOf(Kind kind, SplittableRandom random) {
    return switch (kind) {
      case KERNEL_OUT -> Form.OUT;
      case KERNEL_OF_TWO -> Form.OF_TWO;
      case KERNEL_OF_ARRAY -> Form.OF_ARRAY;
      case KERNEL_LATER -> Form.values()[random.nextInt(3)];
      default -> Form.IN_PLACE;
    };
  }

  /**
   * Draws the details, and computes them on the model.
   *
   * @param spoilt whether the contents of the other slot are unknown
   */
  static KernelCall draw(
      Form form,
      Slot slot,
      UnifiedBuffer<int[]> target,
      Slot other,
      @Nullable UnifiedBuffer<int[]> source,
      boolean spoilt,
      SplittableRandom random) {
    boolean ofTwo = form == Form.OF_TWO;
    int longest = ofTwo ? Math.min(slot.model.length, other.model.length) : slot.model.length;
    int count = random.nextInt(3) == 0 ? longest : random.nextInt(1 + longest);
    int at = random.nextInt(1 + slot.model.length - count);
    int from = ofTwo ? random.nextInt(1 + other.model.length - count) : 0;
    int a = random.nextInt();
    int[] array = form == Form.OF_ARRAY ? Range.fresh(count, random) : new int[0];
    int[] input = ofTwo ? other.model : form == Form.OF_ARRAY ? array : slot.model;
    for (int i = 0; i < count; i++) {
      slot.model[at + i] = form.compute(slot.model[at + i], input[from + i], a);
    }
    UnifiedBuffer<int[]> y = target.slice(at, count);
    Arguments arguments = Arguments.of("a", a, "y", y);
    UnifiedBuffer<int[]> x = ofTwo && source != null ? source.slice(from, count) : null;
    if (x != null) {
      arguments = arguments.with("x", x);
    } else if (form == Form.OF_ARRAY) {
      arguments = arguments.with("x", array);
    }
    boolean all = count == slot.model.length && (form == Form.OUT || form == Form.OF_ARRAY);
    Effect effect = spoilt ? Effect.SPOIL : all ? Effect.ALL : Effect.PART;
    return new KernelCall(form, arguments, effect, y, x);
  }

  /** Closes the slices; requested operations continue. */
  void closeSlices() {
    y.close();
    if (x != null) {
      x.close();
    }
  }
}
