package dev.tidepool.testkit.metal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The tables of what Apple documents, and the simulated Metal's agreement with them. */
class MethodTableTest {
  private static final Map<String, String> SAME_IN_C = Map.of("uint64", "NSUInteger");

  @Test
  void theSimulatedMetalHasTheMethodsOfTheTableAndNoOthers() {
    SimulatedMetal simulation = SimulatedMetal.orSkip();
    var documented = new TreeSet<String>();
    for (MethodTable.Row row : SimulatedMetal.table().methods()) {
      documented.add(
          "%s ; %s ; %s ;%s"
              .formatted(row.owner(), row.name(), inC(row.result()), arguments(row.arguments())));
    }
    assertThat(new TreeSet<>(simulation.methods())).isEqualTo(documented);
  }

  private static String arguments(List<String> types) {
    StringBuilder text = new StringBuilder();
    types.forEach(type -> text.append(' ').append(inC(type)));
    return text.toString();
  }

  private static String inC(String type) {
    return SAME_IN_C.getOrDefault(type, type);
  }

  @Test
  void theSimulatedMetalExportsTheFunctionsOfTheTable() {
    SymbolLookup library =
        SymbolLookup.libraryLookup(SimulatedMetal.orSkip().library(), Arena.global());
    assertThat(SimulatedMetal.table().functions())
        .filteredOn(row -> !row.name().endsWith("_stret") || isX86())
        .isNotEmpty()
        .allSatisfy(row -> assertThat(library.find(row.name())).as(row.name()).isPresent());
  }

  private static boolean isX86() {
    return System.getProperty("os.arch").matches("amd64|x86_64");
  }

  @Test
  void aDeclarationAsDocumentedIsAccepted() {
    var range = MemoryLayout.structLayout(JAVA_LONG.withName("location"), JAVA_LONG);
    assertThat(
            SimulatedMetal.checkSignatures(
                List.of(
                    method(
                        "MTLDevice",
                        "newBufferWithLength:options:",
                        FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG)),
                    method(
                        "MTLBlitCommandEncoder",
                        "fillBuffer:range:value:",
                        FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, ADDRESS, range, JAVA_INT)),
                    method(
                        "MTLDevice",
                        "hasUnifiedMemory",
                        FunctionDescriptor.of(JAVA_BOOLEAN, ADDRESS, ADDRESS)),
                    method(
                        "MTLDevice",
                        "isLowPower",
                        FunctionDescriptor.of(JAVA_BYTE, ADDRESS, ADDRESS)),
                    method("MTLBuffer", "release", FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG)),
                    method(
                        "MTLBuffer",
                        "storageMode",
                        FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS)),
                    method(
                        "+MTLCompileOptions",
                        "new",
                        FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS)))))
        .isEmpty();
  }

  @Test
  void anotherDeclarationIsRefused() {
    assertThat(
            SimulatedMetal.checkSignatures(
                List.of(
                    method(
                        "MTLDevice",
                        "newBufferWithLength:options:",
                        FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT)),
                    method(
                        "MTLDevice",
                        "newBufferWithLength:",
                        FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG)),
                    method("MTLBuffer", "contents", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS)),
                    method("MTLBuffer", "length", FunctionDescriptor.of(JAVA_LONG, ADDRESS)),
                    method(
                        "MTLCompileOptions",
                        "new",
                        FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS)))))
        .satisfiesExactly(
            line -> assertThat(line).contains("options:").contains("int").contains("documented as"),
            line -> assertThat(line).contains("no such method"),
            line -> assertThat(line).contains("contents").contains("void"),
            line -> assertThat(line).contains("length"),
            line -> assertThat(line).contains("no such method"));
  }

  @Test
  void constantsHaveTheValuesThatAreDocumented() {
    assertThat(SimulatedMetal.constant("MTLCommandBufferStatusError")).isEqualTo(5);
    assertThat(SimulatedMetal.constant("MTLResourceStorageModePrivate")).isEqualTo(32);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SimulatedMetal.constant("MTLNoSuchThing"))
        .withMessageContaining("MTLNoSuchThing");
  }

  private static MetalMethod method(String owner, String selector, FunctionDescriptor descriptor) {
    return new MetalMethod(owner, selector, descriptor);
  }
}
