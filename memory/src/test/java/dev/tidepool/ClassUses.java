package dev.tidepool;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.constantpool.Utf8Entry;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Which classes of the library name which others.
 *
 * <p>The class files are read rather than the sources, so that every use counts: a call, a field, a
 * type argument, an annotation, a class that is only named in a signature.
 */
final class ClassUses {
  /** A type in a descriptor or in a generic signature. */
  private static final Pattern DESCRIBED = Pattern.compile("L(dev/tidepool/[\\w/$]+)[;<.]");

  private ClassUses() {}

  /** Returns the folder of the library's classes. */
  static Path library() throws URISyntaxException {
    return Path.of(UnifiedBuffer.class.getProtectionDomain().getCodeSource().getLocation().toURI());
  }

  /** Returns every top-level class in a folder, with all others that it or its members name. */
  static Map<String, TreeSet<String>> of(Path classes) throws IOException {
    Map<String, TreeSet<String>> uses = new TreeMap<>();
    try (Stream<Path> files = Files.walk(classes)) {
      for (Path file : files.filter(ClassUses::isClass).toList()) {
        ClassModel type = ClassFile.of().parse(file);
        TreeSet<String> used =
            uses.computeIfAbsent(
                topLevel(type.thisClass().asInternalName()), name -> new TreeSet<>());
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
      used.add(topLevel(internalName));
    } else {
      addDescribed(internalName, used);
    }
  }

  private static void addDescribed(String text, TreeSet<String> used) {
    Matcher types = DESCRIBED.matcher(text);
    while (types.find()) {
      used.add(topLevel(types.group(1)));
    }
  }

  private static String topLevel(String internalName) {
    int nested = internalName.indexOf('$');
    return (nested < 0 ? internalName : internalName.substring(0, nested)).replace('/', '.');
  }

  /** Returns the package of a top-level class. */
  static String packageOf(String name) {
    return name.substring(0, name.lastIndexOf('.'));
  }
}
