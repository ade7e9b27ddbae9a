package dev.tidepool.methods.bytecode;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.WorkItem;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Convert;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.KernelExpression.ScalarArgument;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Walk;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Builds the trees of kernels that are written as Java methods. Keeps a tree as long as the class
 * that declares the method. Safe for use by any thread.
 */
public final class MethodReader {
  private record Key(String name, MethodTypeDesc type) {}

  // Not a ClassValue: the class would keep the trees, and with them this library's class loader.
  private static final Map<Class<?>, Map<Key, KernelTree>> TREES =
      Collections.synchronizedMap(new WeakHashMap<>());

  private static final ClassDesc WORK_ITEM = WorkItem.class.describeConstable().orElseThrow();

  private MethodReader() {}

  /**
   * Returns the tree of a method.
   *
   * @throws dev.tidepool.KernelCompilationException if the method, or one that it calls, uses a
   *     construct that kernels cannot have; the message names class, method, line and construct and
   *     says what to do instead
   */
  public static KernelTree read(KernelSource.Method source) {
    Key key = new Key(source.name(), source.type().describeConstable().orElseThrow());
    Map<Key, KernelTree> known =
        TREES.computeIfAbsent(source.owner(), _ -> new ConcurrentHashMap<>());
    KernelTree tree = known.get(key);
    if (tree == null) {
      tree = read(source.owner(), key);
      known.put(key, tree);
    }
    return tree;
  }

  private static KernelTree read(Class<?> owner, Key key) {
    ClassFiles files = new ClassFiles(owner);
    String shown = owner.getSimpleName() + "." + key.name();
    MethodCode code = code(owner, key, shown, files);
    List<KernelTree.Parameter> parameters = new ArrayList<>();
    List<StackOperand> operands = operands(code, shown, parameters);
    Numbers numbers = new Numbers();
    List<Statement> statements =
        MethodTranslator.kernel(code, files, new FieldConstants(owner, files), numbers, operands);
    if (Walk.isNestedDeeper(statements, Structurer.DEEPEST)) {
      throw Refusal.of(
          shown,
          "has, with the methods that it calls, statements inside of more than "
              + Structurer.DEEPEST
              + " conditions, loops and calls; divide it into several kernels");
    }
    List<Statement> simple =
        Simplifier.simplify(StableValues.propagate(Simplifier.simplify(statements)));
    return new KernelTree(
        owner.getName(),
        key.name(),
        parameters,
        simple,
        numbers.sites(),
        numbers.variables(),
        numbers.labels());
  }

  private static MethodCode code(Class<?> owner, Key key, String shown, ClassFiles files) {
    String internalName = owner.getName().replace('.', '/');
    try {
      if (owner.isHidden() || files.find(internalName).isEmpty()) {
        throw unreadable(shown, "cannot be read");
      }
      return files
          .method(internalName, key.name(), key.type())
          .orElseThrow(
              () ->
                  Refusal.of(
                      shown,
                      "is not in the class file that "
                          + owner.getClassLoader()
                          + " finds; compile the class again"));
    } catch (ClassFiles.UnreadableException e) {
      throw Refusal.because(e, unreadable(shown, e.getMessage()));
    }
  }

  private static KernelCompilationException unreadable(String shown, String why) {
    return Refusal.of(
        shown,
        "cannot be translated, because its class file "
            + why
            + "; declare it in a class that a class loader finds as a resource");
  }

  private static List<StackOperand> operands(
      MethodCode code, String shown, List<KernelTree.Parameter> parameters) {
    List<StackOperand> operands = new ArrayList<>();
    Set<String> names = new HashSet<>();
    int slot = 0;
    for (int i = 0; i < code.type().parameterCount(); i++) {
      ClassDesc type = code.type().parameterType(i);
      if (i == 0 && type.equals(WORK_ITEM)) {
        operands.add(new StackOperand.Item());
      } else if (i == 0
          && (type.descriptorString().equals("I") || type.descriptorString().equals("J"))) {
        operands.add(index(type));
      } else {
        String name = code.parameterName(slot).orElse("arg" + parameters.size());
        if (!names.add(name)) {
          throw Refusal.of(shown, "has two parameters called '" + name + "'; rename one");
        }
        operands.add(parameter(type, name, code, shown, parameters));
      }
      slot += java.lang.classfile.TypeKind.from(type).slotSize();
    }
    return operands;
  }

  /** Returns whether a method takes the index of an item instead of a {@link WorkItem}. */
  public static boolean takesIndex(KernelSource.Method source) {
    return source.type().parameterCount() > 0
        && (source.type().parameterType(0) == int.class
            || source.type().parameterType(0) == long.class);
  }

  private static StackOperand index(ClassDesc type) {
    ItemNumber index = new ItemNumber(ItemNumber.Kind.GLOBAL_ID, 0);
    return new StackOperand.Value(
        type.descriptorString().equals("J") ? index : new Convert(Conversion.L2I, index));
  }

  private static StackOperand parameter(
      ClassDesc type,
      String name,
      MethodCode code,
      String shown,
      List<KernelTree.Parameter> parameters) {
    int index = parameters.size();
    boolean isArray = type.isArray();
    ElementKind kind =
        Types.primitive(isArray ? type.componentType() : type)
            .orElseThrow(
                () ->
                    Refusal.at(
                        shown,
                        code.line(0),
                        "the parameter '" + name + "' of type " + type.displayName(),
                        "take a WorkItem first, and numbers, booleans and one-dimensional arrays"
                            + " of them"));
    parameters.add(new KernelTree.Parameter(name, kind, isArray));
    return isArray
        ? new StackOperand.Array(new KernelArray.Argument(index, kind, name))
        : new StackOperand.Value(new ScalarArgument(index, kind.loaded()));
  }
}
