package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Convert;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.KernelExpression.Length;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Walk;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Checks whether each item of a kernel uses only scalars and the elements at its own index. Only
 * such a kernel can run over one part of the arrays after another and compute the same results. A
 * test that the item's index is within an array does not count as a use.
 */
public final class OwnElements {
  private @Nullable String other;

  private OwnElements() {}

  /** Returns what else a kernel uses; empty if there is nothing. */
  public static Optional<String> besides(KernelTree tree) {
    OwnElements elements = new OwnElements();
    Walk.statements(tree.body(), elements::visit);
    return Optional.ofNullable(elements.other);
  }

  /** Returns whether an index is the item's own in dimension 0. */
  static boolean isOwn(KernelExpression index) {
    return index instanceof Convert(Conversion conversion, KernelExpression number)
        && conversion == Conversion.L2I
        && isOwnNumber(number);
  }

  /** Returns whether an expression is the item's number in dimension 0, as a long. */
  static boolean isOwnNumber(KernelExpression number) {
    return number.equals(new ItemNumber(ItemNumber.Kind.GLOBAL_ID, 0));
  }

  private void visit(Statement statement) {
    KernelArray array = Walk.array(statement);
    boolean usesElement = array != null && !(statement instanceof Statement.Clear);
    for (KernelExpression expression : Walk.expressions(statement)) {
      if (usesElement && array instanceof KernelArray.Argument argument) {
        usesElement = false; // The index is the first expression.
        if (isOwn(expression)) {
          continue;
        }
        Site site = Walk.site(statement);
        note(
            "elements of '%s' at another index than its item's%s"
                .formatted(argument.name(), site == null ? "" : " (" + place(site) + ")"));
      }
      visit(expression);
    }
  }

  private static String place(Site site) {
    return site.frame().getFileName() + ":" + site.frame().getLineNumber();
  }

  private void visit(KernelExpression expression) {
    switch (expression) {
      case Compare guard when LengthGuard.of(guard) != null -> {
        // True for all items, or for none.
      }
      case ItemNumber _ -> note("the number of its item as a value");
      case Length(KernelArray.Argument array) -> note("the length of '" + array.name() + "'");
      default -> Walk.operands(expression).forEach(this::visit);
    }
  }

  private void note(String what) {
    if (other == null) {
      other = what;
    }
  }
}
