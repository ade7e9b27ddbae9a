package dev.tidepool.methods.bytecode;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import org.junit.jupiter.api.Test;

/** Methods as compilers of other languages write them. */
class OtherCompilersTest {
  /** {@code fun halve(i: Int, x: FloatArray) { x[i] = x[i] / 2 }}, as Kotlin 2.3 compiles it. */
  private static void halve(CodeBuilder code) {
    code.aload(1)
        .ldc("x")
        .invokestatic(
            ClassDesc.of("kotlin.jvm.internal.Intrinsics"),
            "checkNotNullParameter",
            MethodTypeDesc.of(
                ConstantDescs.CD_void, ConstantDescs.CD_Object, ConstantDescs.CD_String));
    code.aload(1).iload(0);
    code.aload(1).iload(0).faload().fconst_2().fdiv();
    code.fastore().return_();
  }

  @Test
  void kotlinsTestsForNullAreLeftOut() {
    KernelTree tree =
        MethodReader.read(
            GeneratedMethod.of(
                "Halves", "halve", ConstantDescs.CD_float, OtherCompilersTest::halve));

    assertThat(tree.body())
        .satisfiesExactly(
            first -> assertThat(first).isInstanceOf(Statement.Load.class),
            second -> assertThat(second).isInstanceOf(Statement.Store.class));
  }
}
