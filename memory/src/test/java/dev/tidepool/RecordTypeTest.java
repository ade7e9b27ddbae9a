package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.diagnostics.LayoutReport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.lang.reflect.RecordComponent;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which records are the elements of a buffer, wherever and however they are declared. */
final class RecordTypeTest {
  @TempDir private Path folder;

  private record Hidden(int a, Within within) {}

  private record Within(byte b, double c) {}

  record OfThePackage(float x) {}

  private record Refusing(int value) {
    Refusing {
      if (value < 0) {
        throw new IllegalStateException("below nothing");
      }
    }
  }

  private record Node(int value, Node next) {}

  private record Chicken(long weight, Egg egg) {}

  private record Egg(Shell shell) {}

  private record Shell(int color, Chicken inside) {}

  private record Twice(Within first, Within second) {}

  private static <R extends Record> void roundTrip(ElementType<R[]> type, R[] records) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(type.bytes(records.length));
      type.write(records, 0, memory, 0, records.length);
      R[] read = type.newArray(records.length);
      type.read(memory, 0, read, 0, records.length);
      assertThat(read).isEqualTo(records);
    }
  }

  @Test
  void aRecordThatIsNotPublicIsTakenWhereItsPackageIsOpen() {
    roundTrip(
        ElementType.struct(Hidden.class),
        new Hidden[] {
          new Hidden(1, new Within((byte) 2, 3)), new Hidden(4, new Within((byte) 5, 6))
        });
    roundTrip(ElementType.struct(OfThePackage.class), new OfThePackage[] {new OfThePackage(1.5f)});
    roundTrip(
        ElementType.struct(Twice.class),
        new Twice[] {new Twice(new Within((byte) 1, 2), new Within((byte) 3, 4))});
  }

  @Test
  void whatTheConstructorOfSuchARecordThrowsIsThrown() {
    ElementType<Refusing[]> type = ElementType.struct(Refusing.class);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(4).fill((byte) -1);
      assertThatThrownBy(() -> type.read(memory, 0, new Refusing[1], 0, 1))
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("below nothing");
    }
  }

  @Test
  void aRecordThatContainsItselfIsRefusedWithTheWayBackToIt() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ElementType.struct(Node.class))
        .withMessageContainingAll(Node.class.getName(), "contains itself", "next");
    for (Class<? extends Record> type : List.of(Chicken.class, Egg.class, Shell.class)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ElementType.struct(type, MethodHandles.lookup()))
          .withMessageContainingAll(type.getName(), "contains itself", "egg", "shell", "inside");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ElementType.struct(Chicken.class))
        .withMessageContaining("egg.shell.inside");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> LayoutReport.of(Node.class))
        .withMessageContaining("contains itself");
  }

  /** The largest that the compiler takes are those whose constructor has 254 slots and `this`. */
  @Test
  void aRecordOfManyComponentsIsReadAndWritten() throws Exception {
    Map<String, List<Integer>> counts = new LinkedHashMap<>();
    counts.put("long", List.of(80, 81, 100, 127));
    counts.put("int", List.of(80, 85, 250, 251, 252, 253, 254));
    counts.put("boolean", List.of(254));
    counts.put("double", List.of(127));
    List<String> names = new ArrayList<>();
    List<String> sources = new ArrayList<>();
    counts.forEach(
        (component, all) ->
            all.forEach(
                count -> {
                  String name = "Many" + component + count;
                  names.add("p." + name);
                  sources.add("p/" + name + ".java");
                  sources.add(manyComponents(component, count).replace("Many", name));
                }));
    Path classes = classPathOf(sources.toArray(String[]::new));
    for (String name : names) {
      Class<? extends Record> type = compiled(classes, name);
      assertAllComponentsTravel(ElementType.struct(type));
      assertAllComponentsTravel(
          ElementType.struct(type, MethodHandles.privateLookupIn(type, MethodHandles.lookup())));
    }
  }

  @Test
  void whatTheConstructorOfARecordOfManyComponentsThrowsIsThrown() throws Exception {
    String source =
        manyComponents("long", 100)
            .replace(
                "{}", "{ public Many { if (c7 != 0) throw new IllegalStateException(\"c7\"); } }");
    ElementType<?> type = ElementType.struct(compiled(classPath(source), "p.Many"));
    assertFailsToRead(type);
  }

  private static <A> void assertFailsToRead(ElementType<A> type) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(type.byteSize()).fill((byte) 1);
      assertThatThrownBy(() -> type.read(memory, 0, type.newArray(1), 0, 1))
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("c7");
    }
  }

  @Test
  void aClosedModuleIsToldToOpenItsPackageOrToPassALookup() throws Exception {
    Path module = module("module closed { exports q; }");
    Class<? extends Record> type = inModule("closed", module);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ElementType.struct(type))
        .withMessageContainingAll(
            "p.Many", "closed", "open", "package p", "MethodHandles.lookup()");
    assertAllComponentsTravel(
        ElementType.struct(
            type, MethodHandles.privateLookupIn(opened(type), MethodHandles.lookup())));
  }

  /** As the module itself does that passes a lookup. */
  private static Class<?> opened(Class<?> type) throws ReflectiveOperationException {
    Class<?> opener = Class.forName("q.Opener", true, type.getClassLoader());
    opener.getMethod("open", Module.class).invoke(null, RecordTypeTest.class.getModule());
    return type;
  }

  @Test
  void aModuleThatOpensThePackageNeedNotMakeTheRecordPublic() throws Exception {
    assertAllComponentsTravel(
        ElementType.struct(inModule("opened", module("module opened { opens p; exports q; }"))));
  }

  @Test
  void aPublicRecordOfAnExportedPackageNeedsNothingElse() throws Exception {
    Path classes =
        classPathOf(
            "module-info.java",
            "module exported { exports p; }",
            "p/Many.java",
            manyComponents("int", 3));
    assertAllComponentsTravel(ElementType.struct(inModule("exported", classes)));
    Path large =
        classPathOf(
            "module-info.java",
            "module exported { exports p; }",
            "p/Many.java",
            manyComponents("int", 200));
    assertAllComponentsTravel(ElementType.struct(inModule("exported", large)));
  }

  private static String manyComponents(String component, int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> component + " c" + i)
        .collect(Collectors.joining(", ", "package p; public record Many(", ") {}"));
  }

  private Path module(String info) throws IOException {
    return classPathOf(
        "module-info.java",
        info,
        "p/Many.java",
        manyComponents("int", 100).replace("public ", ""),
        "q/Opener.java",
        "package q; public class Opener { public static void open(Module to) {"
            + " Opener.class.getModule().addOpens(\"p\", to); } }");
  }

  private Path classPath(String record) throws IOException {
    return classPathOf("p/Many.java", record);
  }

  /** Compiles sources, named and written one after another. */
  private Path classPathOf(String... sources) throws IOException {
    Path home = Files.createTempDirectory(folder, "record");
    List<String> arguments = new ArrayList<>(List.of("-d", home.resolve("classes").toString()));
    for (int i = 0; i < sources.length; i += 2) {
      Path file = home.resolve("sources").resolve(sources[i]);
      Files.createDirectories(file.getParent());
      arguments.add(Files.writeString(file, sources[i + 1]).toString());
    }
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(null, null, null, arguments.toArray(String[]::new));
    assertThat(status).isZero();
    return home.resolve("classes");
  }

  private static Class<? extends Record> compiled(Path classes, String name) throws Exception {
    try (URLClassLoader loader =
        new URLClassLoader(
            new URL[] {classes.toUri().toURL()}, RecordTypeTest.class.getClassLoader())) {
      return Class.forName(name, true, loader).asSubclass(Record.class);
    }
  }

  private static Class<? extends Record> inModule(String name, Path classes) throws Exception {
    Configuration configuration =
        ModuleLayer.boot()
            .configuration()
            .resolve(ModuleFinder.of(classes), ModuleFinder.of(), Set.of(name));
    ClassLoader loader =
        ModuleLayer.boot()
            .defineModulesWithOneLoader(configuration, RecordTypeTest.class.getClassLoader())
            .findLoader(name);
    return Class.forName("p.Many", true, loader).asSubclass(Record.class);
  }

  /** Every byte of memory is read, and written again from the records. */
  private static <A> void assertAllComponentsTravel(ElementType<A> type) throws Exception {
    int count = 3;
    RecordComponent[] components = type.arrayClass().getComponentType().getRecordComponents();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(type.bytes(count));
      boolean truths = components[0].getType() == boolean.class;
      for (long i = 0; i < memory.byteSize(); i++) {
        byte value = (byte) (truths ? i % 3 % 2 : i * 7 % 61);
        memory.set(java.lang.foreign.ValueLayout.JAVA_BYTE, i, value);
      }
      A records = type.newArray(count);
      type.read(memory, 0, records, 0, count);
      MemorySegment again = arena.allocate(type.bytes(count));
      type.write(records, 0, again, 0, count);
      assertThat(again.mismatch(memory)).isEqualTo(-1);
      assertThat(Arrays.stream((Object[]) records).distinct()).hasSize(count);
    }
  }
}
