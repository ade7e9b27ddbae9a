package dev.tidepool.testkit.metal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.SequenceLayout;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The tables of Apple's documentation: methods, functions and constants. */
final class MethodTable {
  /**
   * The row of a method or function.
   *
   * @param owner the class, protocol or library; a plus sign in front marks a class method
   * @param name the selector or function
   * @param result the type of the result; {@code void} for none
   * @param arguments the types of the arguments, without object and selector
   * @param ownership whether the caller releases the result
   * @param page the page of the documentation
   */
  record Row(
      String owner,
      String name,
      String result,
      List<String> arguments,
      String ownership,
      String page) {
    boolean ofClass() {
      return owner.startsWith("+");
    }

    String owningClass() {
      return ofClass() ? owner.substring(1) : owner;
    }
  }

  /** The class or protocol from which each inherits methods, as far as the table needs it. */
  private static final Map<String, String> PARENTS =
      Map.of(
          "MTLBuffer", "MTLResource",
          "MTLBlitCommandEncoder", "MTLCommandEncoder",
          "MTLComputeCommandEncoder", "MTLCommandEncoder",
          "MTLSharedEvent", "MTLEvent",
          "MTLBufferBinding", "MTLBinding",
          "MTLThreadgroupBinding", "MTLBinding");

  private static final String ROOT = "NSObject";

  /** Programs may declare addresses as numbers, which are passed in the same registers. */
  private static final List<String> ADDRESSES = List.of("address", "long");

  /** The layouts that may represent each type; error messages name the first. */
  private static final Map<String, List<String>> LAYOUTS =
      Map.ofEntries(
          Map.entry("id", ADDRESSES),
          Map.entry("Class", ADDRESSES),
          Map.entry("SEL", ADDRESSES),
          Map.entry("pointer", ADDRESSES),
          Map.entry("string", ADDRESSES),
          Map.entry("id*", ADDRESSES),
          Map.entry("block", ADDRESSES),
          Map.entry("BOOL", List.of("boolean", "byte")),
          Map.entry("NSInteger", List.of("long")),
          Map.entry("NSUInteger", List.of("long")),
          Map.entry("uint64", List.of("long")),
          Map.entry("uint32", List.of("int")),
          // Not a byte, which would be sign-extended.
          Map.entry("uint8", List.of("int")),
          Map.entry("double", List.of("double")),
          Map.entry("MTLSize", List.of("{long long long}")),
          Map.entry("NSOperatingSystemVersion", List.of("{long long long}")),
          Map.entry("NSRange", List.of("{long long}")),
          Map.entry("MTLSizeAndAlign", List.of("{long long}")),
          Map.entry("void", List.of("void")));

  private final List<Row> methods = read("selectors.txt");
  private final List<Row> functions = read("functions.txt");

  List<Row> methods() {
    return methods;
  }

  List<Row> functions() {
    return functions;
  }

  /** Returns the method that a class or its objects have for a selector. */
  Optional<Row> find(String owner, String selector) {
    boolean ofClass = owner.startsWith("+");
    String type = ofClass ? owner.substring(1) : owner;
    return Stream.iterate(Optional.of(type), Optional::isPresent, MethodTable::parent)
        .flatMap(Optional::stream)
        .flatMap(
            each ->
                methods.stream()
                    .filter(row -> row.ofClass() == ofClass)
                    .filter(row -> row.owningClass().equals(each) && row.name().equals(selector)))
        .findFirst();
  }

  private static Optional<String> parent(Optional<String> type) {
    return type.filter(name -> !name.equals(ROOT)).map(name -> PARENTS.getOrDefault(name, ROOT));
  }

  /** Returns the error in a declaration; empty if it is as documented. */
  Optional<String> complaint(MetalMethod method) {
    String name = method.owner() + " " + method.selector();
    Optional<Row> found = find(method.owner(), method.selector());
    if (found.isEmpty()) {
      return Optional.of(name + ": the table has no such method");
    }
    List<String> types = new ArrayList<>(List.of("id", "SEL"));
    types.addAll(found.get().arguments());
    return complaint(name, found.get().result(), types, method.descriptor());
  }

  /** Returns the error in the declaration of a function; empty if it is as documented. */
  Optional<String> complaint(String function, FunctionDescriptor descriptor) {
    return functions.stream()
        .filter(row -> row.name().equals(function))
        .findFirst()
        .map(row -> complaint(function, row.result(), row.arguments(), descriptor))
        .orElse(Optional.of(function + ": the table has no such function"));
  }

  private static Optional<String> complaint(
      String name, String result, List<String> arguments, FunctionDescriptor descriptor) {
    List<String> types = new ArrayList<>(List.of(result));
    types.addAll(arguments);
    List<String> declared = words(descriptor);
    boolean fits =
        types.size() == declared.size()
            && Stream.iterate(0, i -> i < types.size(), i -> i + 1)
                .allMatch(i -> layouts(types.get(i)).contains(declared.get(i)));
    return fits
        ? Optional.empty()
        : Optional.of(
            "%s: declared as %s, documented as %s"
                .formatted(
                    name,
                    declared,
                    types.stream()
                        .map(type -> layouts(type).getFirst())
                        .collect(Collectors.toList())));
  }

  private static List<String> layouts(String type) {
    List<String> layouts = LAYOUTS.get(type);
    if (layouts == null) {
      throw new IllegalStateException("the table has an unknown type: " + type);
    }
    return layouts;
  }

  private static List<String> words(FunctionDescriptor descriptor) {
    return Stream.concat(
            Stream.of(descriptor.returnLayout().map(MethodTable::word).orElse("void")),
            descriptor.argumentLayouts().stream().map(MethodTable::word))
        .toList();
  }

  private static String word(MemoryLayout layout) {
    return switch (layout) {
      case ValueLayout value -> carrier(value);
      case GroupLayout group ->
          group.memberLayouts().stream()
              .map(MethodTable::word)
              .collect(Collectors.joining(" ", "{", "}"));
      case SequenceLayout _ -> "array";
      case PaddingLayout _ -> "padding";
    };
  }

  private static String carrier(ValueLayout value) {
    if (value.withoutName().equals(JAVA_LONG)) {
      return "long";
    }
    Map<ValueLayout, String> words =
        Map.of(JAVA_INT, "int", JAVA_BYTE, "byte", JAVA_BOOLEAN, "boolean", JAVA_DOUBLE, "double");
    String word = words.get(value.withoutName());
    return word != null
        ? word
        : value.carrier().equals(ADDRESS.carrier()) ? "address" : value.toString();
  }

  private static List<Row> read(String resource) {
    try (InputStream stream = MethodTable.class.getResourceAsStream(resource)) {
      if (stream == null) {
        throw new IllegalStateException(resource + " is not among the testkit's resources");
      }
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .map(MethodTable::row)
          .toList();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private static Row row(String line) {
    String[] cells = line.split(";", -1);
    if (cells.length != 6) {
      throw new IllegalStateException("six columns are needed: " + line);
    }
    String arguments = cells[3].strip();
    return new Row(
        cells[0].strip(),
        cells[1].strip(),
        cells[2].strip(),
        arguments.isEmpty() ? List.of() : List.of(arguments.split(" +")),
        cells[4].strip(),
        cells[5].strip());
  }
}
