package dev.tidepool.host;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.INIT_NAME;
import static java.lang.constant.ConstantDescs.MTD_void;

import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DirectMethodHandleDesc;
import java.lang.constant.DynamicConstantDesc;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.List;
import java.util.function.Consumer;

/**
 * Makes loops whose bodies are written out, one instruction after the other, for what they are
 * asked for: as many members, such types. The compiler keeps all of it in registers, where it would
 * not with arrays and further loops inside.
 */
final class WrittenLoop {
  private static final ClassDesc SELF =
      ClassDesc.of(WrittenLoop.class.getPackageName(), "GeneratedLoop");
  private static final DirectMethodHandleDesc CONSTANT =
      ConstantDescs.ofConstantBootstrap(
          describe(MethodHandles.class), "classDataAt", CD_Object, ConstantDescs.CD_int);

  private WrittenLoop() {}

  /**
   * An instance of a hidden class.
   *
   * @param type an interface of this package with one method, which returns nothing
   * @param constants what {@link #constant} loads
   * @param body writes the method
   */
  static <T> T define(Class<T> type, List<?> constants, Consumer<CodeBuilder> body) {
    Method method = type.getDeclaredMethods()[0];
    byte[] file =
        ClassFile.of()
            .build(
                SELF,
                builder ->
                    builder
                        .withFlags(ClassFile.ACC_FINAL | ClassFile.ACC_SYNTHETIC)
                        .withInterfaceSymbols(describe(type))
                        .withMethodBody(
                            INIT_NAME,
                            MTD_void,
                            0,
                            code ->
                                code.aload(0)
                                    .invokespecial(CD_Object, INIT_NAME, MTD_void)
                                    .return_())
                        .withMethodBody(
                            method.getName(),
                            MethodType.methodType(void.class, method.getParameterTypes())
                                .describeConstable()
                                .orElseThrow(),
                            ClassFile.ACC_PUBLIC,
                            code -> {
                              body.accept(code);
                              code.return_();
                            }));
    return Template.load(file, type, constants);
  }

  /** Loads one of the constants, which is one for the compiler too. */
  static void constant(CodeBuilder code, Class<?> type, int number) {
    code.loadConstant(
        DynamicConstantDesc.ofNamed(CONSTANT, ConstantDescs.DEFAULT_NAME, describe(type), number));
  }

  /** Counts an {@code int} local up to another. */
  static void count(CodeBuilder code, int index, int end, Runnable body) {
    Label top = code.newLabel();
    Label out = code.newLabel();
    code.labelBinding(top).iload(index).iload(end).if_icmpge(out);
    body.run();
    code.iinc(index, 1).goto_(top).labelBinding(out);
  }

  static ClassDesc describe(Class<?> type) {
    return type.describeConstable().orElseThrow();
  }
}
