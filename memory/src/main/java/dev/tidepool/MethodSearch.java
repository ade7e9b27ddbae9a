package dev.tidepool;

import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Finds the static methods that kernels are made of. */
final class MethodSearch {
  private MethodSearch() {}

  /**
   * Returns the static method with a name.
   *
   * @param type its parameters and result; null if only one method has the name
   * @throws IllegalArgumentException if there is none, or more than one
   */
  static Method only(Class<?> owner, String name, @Nullable MethodType type) {
    List<Method> found = new ArrayList<>();
    for (Method method : owner.getDeclaredMethods()) {
      boolean isWanted = method.getName().equals(name) && !method.isSynthetic();
      if (isWanted && (type == null || typeOf(method).equals(type))) {
        found.add(method);
      }
    }
    if (found.isEmpty()) {
      throw new IllegalArgumentException(
          owner.getName()
              + " declares no method "
              + name
              + (type == null ? "" : type)
              + "; it declares "
              + names(owner)
              + ". Name the class that declares the kernel, or pass its MethodHandles.lookup()");
    }
    return only(found, owner, name);
  }

  /**
   * Returns the static method with a name that has {@link KernelMethod}. If none has, returns the
   * only method with the name.
   *
   * @throws IllegalArgumentException if there is none, or more than one
   */
  static Method annotated(Class<?> owner, String name) {
    List<Method> found = new ArrayList<>();
    for (Method method : owner.getDeclaredMethods()) {
      if (method.getName().equals(name) && method.isAnnotationPresent(KernelMethod.class)) {
        found.add(method);
      }
    }
    return found.isEmpty() ? only(owner, name, null) : only(found, owner, name);
  }

  private static Method only(List<Method> found, Class<?> owner, String name) {
    if (found.size() > 1) {
      throw new IllegalArgumentException(
          owner.getName()
              + " declares several methods "
              + name
              + "; pass a MethodHandles.Lookup, the name and the MethodType of one: "
              + found.stream()
                  .map(method -> typeOf(method).toString())
                  .sorted()
                  .collect(Collectors.joining(", ")));
    }
    requireStatic(found.getFirst());
    return found.getFirst();
  }

  /** Checks that a method is declared {@code static void}, as a kernel must be. */
  static void requireStatic(Method method) {
    if (!Modifier.isStatic(method.getModifiers()) || method.getReturnType() != void.class) {
      throw new IllegalArgumentException(
          shown(method) + " is no static void method; kernels are, and write results to arrays");
    }
  }

  private static List<String> names(Class<?> owner) {
    List<String> names = new ArrayList<>();
    for (Method method : owner.getDeclaredMethods()) {
      if (Modifier.isStatic(method.getModifiers()) && !method.isSynthetic()) {
        names.add(method.getName());
      }
    }
    return names.stream().distinct().sorted().toList();
  }

  static MethodType typeOf(Method method) {
    return MethodType.methodType(method.getReturnType(), method.getParameterTypes());
  }

  /** Returns the name of a method in messages. */
  static String shown(Method method) {
    return method.getDeclaringClass().getName() + "." + method.getName();
  }
}
