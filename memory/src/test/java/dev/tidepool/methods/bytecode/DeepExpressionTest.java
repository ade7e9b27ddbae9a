package dev.tidepool.methods.bytecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.methods.tree.Walk;
import java.lang.classfile.CodeBuilder;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Expressions whose operands are expressions, and so on, thousands of times. */
class DeepExpressionTest {
  private static final int TERMS = 5000;
  private static final int CASTS = 1000;
  private static final int CALLS = 1500;

  /** {@code x[i] = i + i + i ...}. */
  private static void sum(CodeBuilder code) {
    code.aload(1).iload(0).iload(0);
    for (int term = 1; term < TERMS; term++) {
      code.iload(0).iadd();
    }
    code.iastore().return_();
  }

  /** {@code int a = (byte) i; int b = (short) a; int c = (byte) b; ... x[i] = z;}. */
  private static void casts(CodeBuilder code) {
    code.iload(0).istore(2);
    for (int at = 2; at < 2 + CASTS; at++) {
      code.iload(at);
      (at % 2 == 0 ? code.i2b() : code.i2s()).istore(at + 1);
    }
    code.aload(1).iload(0).iload(2 + CASTS).iastore().return_();
  }

  /** {@code x[i] = Math.ceilMod(i, 7) + Math.ceilMod(i, 7) + ...}, with calls that are inlined. */
  private static void calls(CodeBuilder code) {
    code.aload(1).iload(0).iconst_0();
    for (int term = 0; term < CALLS; term++) {
      code.iload(0).bipush(7);
      code.invokestatic(
          ClassDesc.of("java.lang.Math"),
          "ceilMod",
          MethodTypeDesc.of(ConstantDescs.CD_int, ConstantDescs.CD_int, ConstantDescs.CD_int));
      code.iadd();
    }
    code.iastore().return_();
  }

  private static KernelSource.Method kernel(Consumer<CodeBuilder> body) {
    return GeneratedMethod.of("Sum", "sum", ConstantDescs.CD_int, body);
  }

  private static void requireShallow(Consumer<CodeBuilder> body) {
    Walk.statements(
        MethodReader.read(kernel(body)).body(),
        statement ->
            assertThat(Walk.expressions(statement))
                .noneMatch(expression -> Walk.isDeeper(expression, 40)));
  }

  @Test
  void expressionsOfATreeNestAFewTimesOnly() {
    requireShallow(DeepExpressionTest::sum);
    requireShallow(DeepExpressionTest::casts);
  }

  @Test
  void aKernelThatIsTooLongWithMethodsOfJavaIsRefusedForItsLength() {
    KernelSource.Method source = kernel(DeepExpressionTest::calls);
    assertThatThrownBy(() -> MethodReader.read(source))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessage(
            "Sum.sum has, with the methods that it calls, more than 20000 instructions; divide it"
                + " into several kernels");
  }

  @Test
  void theProcessorComputesThem() {
    int[] sums = new int[3];
    int[] casts = new int[300];
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0")) {
      memory.compile(kernel(DeepExpressionTest::sum)).execute(Arguments.inOrder(sums));
      memory.compile(kernel(DeepExpressionTest::casts)).execute(Arguments.inOrder(casts));
    }
    assertThat(sums).containsExactly(0, TERMS, 2 * TERMS);
    for (int i = 0; i < casts.length; i++) {
      assertThat(casts[i]).isEqualTo((byte) i);
    }
  }
}
