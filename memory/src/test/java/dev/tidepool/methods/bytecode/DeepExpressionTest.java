package dev.tidepool.methods.bytecode;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.methods.tree.Walk;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import org.junit.jupiter.api.Test;

/** Expressions whose operands are expressions, and so on, thousands of times. */
class DeepExpressionTest {
  private static final int TERMS = 5000;

  /** {@code x[i] = i + i + i ...}. */
  private static void sum(CodeBuilder code) {
    code.aload(1).iload(0).iload(0);
    for (int term = 1; term < TERMS; term++) {
      code.iload(0).iadd();
    }
    code.iastore().return_();
  }

  private static KernelSource.Method kernel() {
    byte[] bytes =
        ClassFile.of()
            .build(
                ClassDesc.of("generated.Sum"),
                made ->
                    made.withFlags(ClassFile.ACC_PUBLIC)
                        .withMethodBody(
                            "sum",
                            MethodTypeDesc.of(
                                ConstantDescs.CD_void,
                                ConstantDescs.CD_int,
                                ConstantDescs.CD_int.arrayType()),
                            ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
                            DeepExpressionTest::sum));
    class Loader extends ClassLoader {
      Loader() {
        super(DeepExpressionTest.class.getClassLoader());
      }

      Class<?> type() {
        return defineClass(null, bytes, 0, bytes.length);
      }

      @Override
      public InputStream getResourceAsStream(String name) {
        return new ByteArrayInputStream(bytes);
      }
    }
    Class<?> type = new Loader().type();
    return KernelSource.method(MethodHandles.publicLookup().in(type), "sum");
  }

  @Test
  void expressionsOfATreeNestAFewTimesOnly() {
    Walk.statements(
        MethodReader.read(kernel()).body(),
        statement ->
            assertThat(Walk.expressions(statement))
                .noneMatch(expression -> Walk.isDeeper(expression, 40)));
  }

  @Test
  void theProcessorComputesThem() {
    int[] x = new int[3];
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0")) {
      memory.compile(kernel()).execute(Arguments.inOrder(x));
    }
    assertThat(x).containsExactly(0, TERMS, 2 * TERMS);
  }
}
