import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassFile.StackMapsOption;
import java.lang.classfile.ClassFileVersion;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;

/**
 * Completes the folder of the command line's app: its jar, its libraries, and the stamp that the
 * launcher compares with the sources. The build runs this program on JDK 25.
 *
 * <p>Libraries compiled for Java 5, such as picocli, get a newer class file version and the stack
 * maps that it requires. The JVM does not archive older classes. Without the archive, each start of
 * the command parses and verifies picocli again, which takes 70 ms of 210.
 *
 * <p>Arguments: the jar of the module, and the folder of the app, whose libraries are in {@code
 * lib/}.
 */
final class App {
  /** The first version whose classes are verified by stack maps alone: that of Java 7. */
  private static final int STACK_MAPS = ClassFile.JAVA_7_VERSION;

  private App() {}

  public static void main(String[] arguments) throws IOException {
    Path jar = Path.of(arguments[0]);
    Path app = Path.of(arguments[1]);
    try (DirectoryStream<Path> libraries = Files.newDirectoryStream(app.resolve("lib"), "*.jar")) {
      for (Path library : libraries) {
        if (isOld(library)) {
          renew(library);
        }
      }
    }
    // A cache of the JVM is valid only for the jars that it was created from.
    try (DirectoryStream<Path> caches = Files.newDirectoryStream(app, "*.aot")) {
      for (Path cache : caches) {
        Files.delete(cache);
      }
    }
    Files.copy(jar, app.resolve("tidepool.jar"), StandardCopyOption.REPLACE_EXISTING);
    Files.write(app.resolve("built"), List.of());
  }

  private static boolean isOld(Path library) throws IOException {
    try (JarFile jar = new JarFile(library.toFile())) {
      for (JarEntry entry : Collections.list(jar.entries())) {
        if (isClass(entry)) {
          return majorVersion(bytes(jar, entry)) < STACK_MAPS;
        }
      }
    }
    return false;
  }

  private static void renew(Path library) throws IOException {
    Path renewed = library.resolveSibling(library.getFileName() + ".new");
    try (JarFile jar = new JarFile(library.toFile());
        JarOutputStream target = new JarOutputStream(Files.newOutputStream(renewed))) {
      ClassFile context =
          ClassFile.of(
              StackMapsOption.GENERATE_STACK_MAPS,
              ClassHierarchyResolverOption.of(
                  hierarchy(jar).orElse(ClassHierarchyResolver.defaultResolver())));
      for (JarEntry entry : Collections.list(jar.entries())) {
        byte[] bytes = bytes(jar, entry);
        if (isClass(entry) && majorVersion(bytes) < STACK_MAPS) {
          bytes = renew(context, bytes);
        }
        JarEntry copy = new JarEntry(entry.getName());
        copy.setTime(entry.getTime());
        target.putNextEntry(copy);
        target.write(bytes);
        target.closeEntry();
      }
    }
    Files.move(renewed, library, StandardCopyOption.REPLACE_EXISTING);
  }

  private static byte[] renew(ClassFile context, byte[] bytes) {
    ClassTransform newVersion =
        (builder, element) -> {
          if (element instanceof ClassFileVersion) {
            builder.withVersion(STACK_MAPS, 0);
          } else {
            builder.with(element);
          }
        };
    ClassTransform newCode = ClassTransform.transformingMethodBodies(CodeBuilder::with);
    return context.transformClass(context.parse(bytes), newCode.andThen(newVersion));
  }

  private static ClassHierarchyResolver hierarchy(JarFile jar) {
    return ClassHierarchyResolver.ofResourceParsing(
        type -> {
          String descriptor = type.descriptorString();
          JarEntry entry =
              jar.getJarEntry(descriptor.substring(1, descriptor.length() - 1) + ".class");
          try {
            return entry == null ? null : jar.getInputStream(entry);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }

  private static boolean isClass(JarEntry entry) {
    return entry.getName().endsWith(".class") && !entry.getName().endsWith("module-info.class");
  }

  private static byte[] bytes(JarFile jar, JarEntry entry) throws IOException {
    try (InputStream stream = jar.getInputStream(entry)) {
      return stream.readAllBytes();
    }
  }

  private static int majorVersion(byte[] bytes) {
    return (bytes[6] & 0xff) << 8 | (bytes[7] & 0xff);
  }
}
