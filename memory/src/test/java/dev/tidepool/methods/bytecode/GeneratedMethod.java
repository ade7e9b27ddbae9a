package dev.tidepool.methods.bytecode;

import dev.tidepool.KernelSource;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import java.util.function.Consumer;

/** Kernels that no compiler of Java writes. */
final class GeneratedMethod {
  private GeneratedMethod() {}

  /**
   * A kernel over the index of an item and an array, in a class of its own.
   *
   * @param type the name of the class, without its package
   */
  static KernelSource.Method of(
      String type, String name, ClassDesc elements, Consumer<CodeBuilder> body) {
    byte[] bytes =
        ClassFile.of()
            .build(
                ClassDesc.of("generated", type),
                made ->
                    made.withFlags(ClassFile.ACC_PUBLIC)
                        .withMethodBody(
                            name,
                            MethodTypeDesc.of(
                                ConstantDescs.CD_void, ConstantDescs.CD_int, elements.arrayType()),
                            ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
                            body));
    class Loader extends ClassLoader {
      Loader() {
        super(GeneratedMethod.class.getClassLoader());
      }

      Class<?> type() {
        return defineClass(null, bytes, 0, bytes.length);
      }

      @Override
      public InputStream getResourceAsStream(String name) {
        return name.equals("generated/" + type + ".class")
            ? new ByteArrayInputStream(bytes)
            : super.getResourceAsStream(name);
      }
    }
    return KernelSource.method(MethodHandles.publicLookup().in(new Loader().type()), name);
  }
}
