package dev.tidepool;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.lang.reflect.Member;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What users see of a type is made of types that users see.
 *
 * <p>The compiler has a lint for it, {@code exports}, which is off: it cannot tell the annotations
 * of nullness, which users need not have, from types.
 */
class ExportedTypesTest {
  private static final Pattern PACKAGE =
      Pattern.compile("dev\\.tidepool(?:\\.[a-z]\\w*)*(?=\\.[A-Z])");

  @Test
  void exportedTypesNameOnlyExportedTypes() throws Exception {
    Path library = ClassUses.library();
    ModuleDescriptor module;
    try (InputStream in = Files.newInputStream(library.resolve("module-info.class"))) {
      module = ModuleDescriptor.read(in);
    }
    Set<String> exported =
        module.exports().stream()
            .filter(export -> !export.isQualified())
            .map(ModuleDescriptor.Exports::source)
            .collect(toSet());
    // A service's provider has to be public, and users do not call it.
    Set<String> providers =
        module.provides().stream()
            .flatMap(service -> service.providers().stream())
            .collect(toSet());
    List<String> hidden = new ArrayList<>();
    int checked = 0;
    for (Class<?> type : types(library, exported)) {
      if (isVisible(type) && !providers.contains(type.getName())) {
        checked++;
        declarations(type)
            .filter(declaration -> !packages(declaration).allMatch(exported::contains))
            .forEach(declaration -> hidden.add(type.getName() + ": " + declaration));
      }
    }
    assertThat(hidden).isEmpty();
    assertThat(checked).isGreaterThan(150);
  }

  private static List<Class<?>> types(Path library, Set<String> packages) throws Exception {
    List<Class<?>> types = new ArrayList<>();
    for (String name : packages) {
      try (Stream<Path> files = Files.list(library.resolve(name.replace('.', '/')))) {
        for (Path file : files.filter(file -> file.toString().endsWith(".class")).toList()) {
          String simple = file.getFileName().toString().replace(".class", "");
          if (!simple.equals("package-info")) {
            types.add(
                Class.forName(
                    name + "." + simple, false, ExportedTypesTest.class.getClassLoader()));
          }
        }
      }
    }
    return types;
  }

  private static boolean isVisible(Class<?> type) {
    for (Class<?> each = type; each != null; each = each.getEnclosingClass()) {
      if (each.isAnonymousClass() || each.isLocalClass() || !isVisible(each.getModifiers())) {
        return false;
      }
    }
    return true;
  }

  private static boolean isVisible(int modifiers) {
    return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
  }

  /** Returns the supertypes of a type, and its visible members, with all types that they name. */
  private static Stream<String> declarations(Class<?> type) {
    Stream<Type> supertypes =
        Stream.concat(
            Stream.ofNullable(type.getGenericSuperclass()),
            Arrays.stream(type.getGenericInterfaces()));
    return Stream.of(
            supertypes.map(Type::getTypeName),
            visible(type.getDeclaredConstructors()).map(each -> each.toGenericString()),
            visible(type.getDeclaredMethods())
                .filter(each -> !each.isSynthetic())
                .map(each -> each.toGenericString()),
            visible(type.getDeclaredFields()).map(each -> each.toGenericString()))
        .flatMap(each -> each);
  }

  private static <T extends Member> Stream<T> visible(T[] members) {
    return Arrays.stream(members).filter(member -> isVisible(member.getModifiers()));
  }

  private static Stream<String> packages(String declaration) {
    return PACKAGE.matcher(declaration).results().map(MatchResult::group);
  }
}
