package dev.tidepool.methods.bytecode;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.KernelSource;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.AccessFlag;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Class files as compilers of other languages write them. */
class OtherCompilersTest {
  private static final ClassDesc INTRINSICS = ClassDesc.of("kotlin.jvm.internal.Intrinsics");

  /** Serves a class file, as a loader of classes from archives does. */
  private static final class Loader extends ClassLoader {
    private final byte[] file;

    Loader(byte[] file) {
      super(OtherCompilersTest.class.getClassLoader());
      this.file = file;
    }

    @Override
    protected Class<?> findClass(String name) {
      return defineClass(name, file, 0, file.length);
    }

    @Override
    public @Nullable InputStream getResourceAsStream(String name) {
      return name.equals("Halves.class")
          ? new ByteArrayInputStream(file)
          : super.getResourceAsStream(name);
    }
  }

  /** {@code fun halve(i: Int, x: FloatArray) { x[i] = x[i] / 2 }}, as Kotlin 2.3 compiles it. */
  private static byte[] halves() {
    return ClassFile.of()
        .build(
            ClassDesc.of("Halves"),
            type ->
                type.withFlags(AccessFlag.PUBLIC, AccessFlag.FINAL)
                    .withMethodBody(
                        "halve",
                        MethodTypeDesc.of(
                            ConstantDescs.CD_void,
                            ConstantDescs.CD_int,
                            ConstantDescs.CD_float.arrayType()),
                        ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
                        code ->
                            code.aload(1)
                                .ldc("x")
                                .invokestatic(
                                    INTRINSICS,
                                    "checkNotNullParameter",
                                    MethodTypeDesc.of(
                                        ConstantDescs.CD_void,
                                        ConstantDescs.CD_Object,
                                        ConstantDescs.CD_String))
                                .aload(1)
                                .iload(0)
                                .aload(1)
                                .iload(0)
                                .arrayLoad(TypeKind.FLOAT)
                                .fconst_2()
                                .fdiv()
                                .arrayStore(TypeKind.FLOAT)
                                .return_()));
  }

  @Test
  void kotlinsTestsForNullAreLeftOut() throws Exception {
    Class<?> owner = new Loader(halves()).loadClass("Halves");
    MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(owner, MethodHandles.lookup());

    KernelTree tree = MethodReader.read(KernelSource.method(lookup, "halve"));

    assertThat(tree.body())
        .hasSize(2)
        .satisfiesExactly(
            first -> assertThat(first).isInstanceOf(Statement.Load.class),
            second -> assertThat(second).isInstanceOf(Statement.Store.class));
  }
}
