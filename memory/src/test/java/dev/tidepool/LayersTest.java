package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The packages are layers: each uses only those below it.
 *
 * @see CyclesTest
 */
class LayersTest {
  /** The packages that users program against. They are one layer: each may use the others. */
  private static final List<String> API =
      List.of(
          "dev.tidepool",
          "dev.tidepool.diagnostics",
          "dev.tidepool.pooling",
          "dev.tidepool.transfer");

  /** The other packages, each a layer, the lowest first. */
  private static final List<String> LAYERS =
      List.of(
          "dev.tidepool.spi",
          "dev.tidepool.spi.support",
          "dev.tidepool.codec",
          "dev.tidepool.host.system",
          "dev.tidepool.host.operations",
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
          "dev.tidepool.methods.tree",
          "dev.tidepool.methods.bytecode",
          "dev.tidepool.methods.analysis",
          "dev.tidepool.methods.c",
          "dev.tidepool.methods.jvm",
          "dev.tidepool.cpu",
          "dev.tidepool.runtime.events",
          "dev.tidepool.runtime.threads",
          "dev.tidepool.runtime.order",
          "dev.tidepool.runtime.context",
          "dev.tidepool.runtime.metering",
          "dev.tidepool.runtime.supply",
          "dev.tidepool.runtime.storage",
          "dev.tidepool.runtime.reclaim",
          "dev.tidepool.runtime.buffer",
          "dev.tidepool.runtime.transfers",
          "dev.tidepool.runtime.kernel",
          "dev.tidepool.runtime.lending",
          "dev.tidepool.runtime.report",
          "dev.tidepool.runtime.session",
          "dev.tidepool.interop",
          "dev.tidepool.stream.file",
          "dev.tidepool.stream.chunk",
          "dev.tidepool.stream.reduction",
          "dev.tidepool.stream.pipeline",
          "dev.tidepool.stream");

  @Test
  void everyPackageUsesOnlyThoseBelowIt() throws Exception {
    assertThat(violations(ClassUses.library())).isEmpty();
  }

  @Test
  void theCheckSeesTheLibrary() throws Exception {
    // A check of an empty folder would pass.
    assertThat(uses(ClassUses.library())).containsKeys("dev.tidepool", "dev.tidepool.spi");
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
        .containsExactly(
            "dev.tidepool.host uses dev.tidepool.runtime.buffer, which is in a higher layer");
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
        .containsExactly(
            "dev.tidepool.spi uses dev.tidepool.pool.block, which is in a higher layer");
  }

  @Test
  void aUseDownwardsIsFineAndAnUnknownPackageIsNot(@TempDir Path folder) throws IOException {
    plant(
        folder,
        "dev.tidepool.stream.Chunk",
        type -> type.withField("buffer", ClassDesc.of("dev.tidepool.UnifiedBuffer"), 0));
    plant(folder, "dev.tidepool.attic.Box", type -> {});

    assertThat(violations(folder))
        .containsExactly("dev.tidepool.attic is in no layer: add it to LayersTest");
  }

  private static List<String> violations(Path classes) throws IOException {
    TreeSet<String> found = new TreeSet<>();
    uses(classes)
        .forEach(
            (user, used) -> {
              if (!API.contains(user) && !LAYERS.contains(user)) {
                found.add(user + " is in no layer: add it to LayersTest");
                return;
              }
              for (String other : used) {
                // Packages of the API are not in the list. Their index, -1, is below all others.
                if (LAYERS.indexOf(other) > LAYERS.indexOf(user)) {
                  found.add(user + " uses " + other + ", which is in a higher layer");
                }
              }
            });
    return List.copyOf(found);
  }

  /** Every package of the library, with all packages of it that its classes name. */
  private static Map<String, TreeSet<String>> uses(Path classes) throws IOException {
    Map<String, TreeSet<String>> uses = new TreeMap<>();
    ClassUses.of(classes)
        .forEach(
            (user, used) -> {
              TreeSet<String> packages =
                  uses.computeIfAbsent(ClassUses.packageOf(user), name -> new TreeSet<>());
              used.forEach(other -> packages.add(ClassUses.packageOf(other)));
            });
    return uses;
  }

  private static void plant(Path folder, String name, Consumer<ClassBuilder> content)
      throws IOException {
    Path file = folder.resolve(name.replace('.', '/') + ".class");
    Files.createDirectories(file.getParent());
    Files.write(file, ClassFile.of().build(ClassDesc.of(name), content));
  }
}
