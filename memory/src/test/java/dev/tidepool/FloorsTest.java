package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.constantpool.Utf8Entry;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The packages stand on one another like the floors of a house: each uses only those below it.
 *
 * <p>The class files are read rather than the sources, so that every use counts: a call, a field, a
 * type argument, an annotation, a class that is only named in a signature.
 */
class FloorsTest {
  /** The packages that users program against. They are one floor: each may use the others. */
  private static final List<String> API =
      List.of(
          "dev.tidepool",
          "dev.tidepool.diagnostics",
          "dev.tidepool.pooling",
          "dev.tidepool.transfer");

  /** The others, from the ground up. */
  private static final List<String> FLOORS =
      List.of(
          "dev.tidepool.spi",
          "dev.tidepool.spi.support",
          "dev.tidepool.codec",
          "dev.tidepool.host",
          "dev.tidepool.pool",
          "dev.tidepool.pool.block",
          "dev.tidepool.pool.object",
          "dev.tidepool.link",
          "dev.tidepool.expression.syntax",
          "dev.tidepool.expression.math",
          "dev.tidepool.expression.types",
          "dev.tidepool.expression.c",
          "dev.tidepool.expression.jvm",
          "dev.tidepool.cpu",
          "dev.tidepool.runtime.flight",
          "dev.tidepool.runtime.order",
          "dev.tidepool.runtime.metering",
          "dev.tidepool.runtime.supply",
          "dev.tidepool.runtime.storage",
          "dev.tidepool.runtime.reclaim",
          "dev.tidepool.runtime.buffer",
          "dev.tidepool.runtime.transfers",
          "dev.tidepool.runtime.kernel",
          "dev.tidepool.runtime.report",
          "dev.tidepool.runtime.session",
          "dev.tidepool.stream.file",
          "dev.tidepool.stream");

  /** A type in a descriptor or in a generic signature. */
  private static final Pattern DESCRIBED = Pattern.compile("L(dev/tidepool/[\\w/$]+)[;<.]");

  @Test
  void everyPackageUsesOnlyThoseBelowIt() throws Exception {
    assertThat(violations(library())).isEmpty();
  }

  @Test
  void theCheckSeesTheLibrary() throws Exception {
    // A check of an empty folder would pass.
    assertThat(uses(library())).containsKeys("dev.tidepool", "dev.tidepool.spi");
  }

  @Test
  void aCallUpwardsIsSeen(@TempDir Path folder) throws IOException {
    ClassDesc buffers = ClassDesc.of("dev.tidepool.runtime.buffer.Buffers");
    plant(
        folder,
        "dev.tidepool.host.Block",
        type ->
            type.withMethodBody(
                "free",
                MethodTypeDesc.of(ConstantDescs.CD_void),
                ClassFile.ACC_STATIC,
                code ->
                    code.invokestatic(buffers, "forget", MethodTypeDesc.of(ConstantDescs.CD_void))
                        .return_()));

    assertThat(violations(folder))
        .containsExactly("dev.tidepool.host uses dev.tidepool.runtime.buffer, a floor above it");
  }

  @Test
  void aTypeThatIsOnlyDescribedIsSeen(@TempDir Path folder) throws IOException {
    plant(
        folder,
        "dev.tidepool.spi.Queue",
        type ->
            type.withField(
                "pools", ClassDesc.of("dev.tidepool.pool.block.MemoryPool").arrayType(), 0));

    assertThat(violations(folder))
        .containsExactly("dev.tidepool.spi uses dev.tidepool.pool.block, a floor above it");
  }

  @Test
  void aUseDownwardsIsFineAndAnUnknownPackageIsNot(@TempDir Path folder) throws IOException {
    plant(
        folder,
        "dev.tidepool.stream.Chunk",
        type -> type.withField("buffer", ClassDesc.of("dev.tidepool.UnifiedBuffer"), 0));
    plant(folder, "dev.tidepool.attic.Box", type -> {});

    assertThat(violations(folder))
        .containsExactly("dev.tidepool.attic stands on no floor: give it one in FloorsTest");
  }

  private static Path library() throws URISyntaxException {
    return Path.of(UnifiedBuffer.class.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  private static List<String> violations(Path classes) throws IOException {
    TreeSet<String> found = new TreeSet<>();
    uses(classes)
        .forEach(
            (user, used) -> {
              if (!API.contains(user) && !FLOORS.contains(user)) {
                found.add(user + " stands on no floor: give it one in FloorsTest");
                return;
              }
              for (String other : used) {
                // Those of the API have no place in the list: -1, below all others.
                if (FLOORS.indexOf(other) > FLOORS.indexOf(user)) {
                  found.add(user + " uses " + other + ", a floor above it");
                }
              }
            });
    return List.copyOf(found);
  }

  /** Every package of the library, with all packages of it that its classes name. */
  private static Map<String, TreeSet<String>> uses(Path classes) throws IOException {
    Map<String, TreeSet<String>> uses = new TreeMap<>();
    try (Stream<Path> files = Files.walk(classes)) {
      for (Path file : files.filter(FloorsTest::isClass).toList()) {
        ClassModel type = ClassFile.of().parse(file);
        TreeSet<String> used =
            uses.computeIfAbsent(
                packageOf(type.thisClass().asInternalName()), name -> new TreeSet<>());
        for (PoolEntry entry : type.constantPool()) {
          switch (entry) {
            case ClassEntry named -> addNamed(named.asInternalName(), used);
            case Utf8Entry text -> addDescribed(text.stringValue(), used);
            default -> {}
          }
        }
      }
    }
    return uses;
  }

  private static boolean isClass(Path file) {
    String name = file.getFileName().toString();
    return name.endsWith(".class") && !name.equals("module-info.class");
  }

  private static void addNamed(String internalName, TreeSet<String> used) {
    if (internalName.startsWith("dev/tidepool/")) {
      used.add(packageOf(internalName));
    } else {
      addDescribed(internalName, used);
    }
  }

  private static void addDescribed(String text, TreeSet<String> used) {
    Matcher types = DESCRIBED.matcher(text);
    while (types.find()) {
      used.add(packageOf(types.group(1)));
    }
  }

  private static String packageOf(String internalName) {
    return internalName.substring(0, internalName.lastIndexOf('/')).replace('/', '.');
  }

  private static void plant(Path folder, String name, Consumer<ClassBuilder> content)
      throws IOException {
    Path file = folder.resolve(name.replace('.', '/') + ".class");
    Files.createDirectories(file.getParent());
    Files.write(file, ClassFile.of().build(ClassDesc.of(name), content));
  }
}
