package dev.tidepool.testkit.conformance;

import static java.util.stream.Collectors.joining;

import dev.tidepool.KernelSource;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Kernels that call the static methods of Java's own classes. */
final class CalledMethods {
  private static final String NAME = "called";

  private CalledMethods() {}

  /** Returns all methods that take numbers and booleans and return one, in a fixed order. */
  static List<Method> all() {
    return Stream.of(Math.class, Integer.class, Long.class, Float.class, Double.class)
        .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
        .filter(
            method ->
                Modifier.isStatic(method.getModifiers())
                    && Modifier.isPublic(method.getModifiers())
                    && method.getReturnType().isPrimitive()
                    && Arrays.stream(method.getParameterTypes()).allMatch(Class::isPrimitive))
        .sorted(Comparator.comparing(CalledMethods::shown))
        .toList();
  }

  /** Returns a method in the form {@code Math.floorMod(long, int)}. */
  static String shown(Method method) {
    return method.getDeclaringClass().getSimpleName()
        + "."
        + method.getName()
        + Arrays.stream(method.getParameterTypes())
            .map(Class::getName)
            .collect(joining(", ", "(", ")"));
  }

  static MethodType type(Method method) {
    return MethodType.methodType(method.getReturnType(), method.getParameterTypes());
  }

  /**
   * Returns a kernel that calls methods of one type: {@code (int i, a[], b[], ..., out[])}. Item
   * {@code i} stores the methods' results for the elements {@code i}, one after another.
   */
  static KernelSource.Method kernel(List<Method> methods) {
    MethodType called = type(methods.getFirst());
    MethodType type = MethodType.methodType(void.class, int.class);
    for (Class<?> parameter : called.parameterList()) {
      type = type.appendParameterTypes(parameter.arrayType());
    }
    type = type.appendParameterTypes(called.returnType().arrayType());
    MethodTypeDesc described = type.describeConstable().orElseThrow();
    byte[] bytes =
        ClassFile.of()
            .build(
                ClassDesc.of("generated", "Calls"),
                made ->
                    made.withFlags(ClassFile.ACC_PUBLIC)
                        .withMethodBody(
                            NAME,
                            described,
                            ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
                            code -> write(code, methods)));
    return KernelSource.method(MethodHandles.publicLookup().in(new Loader(bytes).type()), NAME);
  }

  private static void write(CodeBuilder code, List<Method> methods) {
    for (int k = 0; k < methods.size(); k++) {
      Method method = methods.get(k);
      Class<?>[] parameters = method.getParameterTypes();
      code.aload(1 + parameters.length).iload(0).loadConstant(methods.size()).imul();
      code.loadConstant(k).iadd();
      for (int p = 0; p < parameters.length; p++) {
        code.aload(1 + p).iload(0).arrayLoad(kind(parameters[p]));
      }
      code.invokestatic(
              method.getDeclaringClass().describeConstable().orElseThrow(),
              method.getName(),
              type(method).describeConstable().orElseThrow())
          .arrayStore(kind(method.getReturnType()));
    }
    code.return_();
  }

  private static TypeKind kind(Class<?> type) {
    return TypeKind.fromDescriptor(type.descriptorString());
  }

  /** Provides the class file of its only class as a resource, which kernels need. */
  private static final class Loader extends ClassLoader {
    private final byte[] bytes;

    Loader(byte[] bytes) {
      super(CalledMethods.class.getClassLoader());
      this.bytes = bytes;
    }

    Class<?> type() {
      return defineClass(null, bytes, 0, bytes.length);
    }

    @Override
    public InputStream getResourceAsStream(String name) {
      return name.startsWith("generated/")
          ? new ByteArrayInputStream(bytes)
          : super.getResourceAsStream(name);
    }
  }
}
