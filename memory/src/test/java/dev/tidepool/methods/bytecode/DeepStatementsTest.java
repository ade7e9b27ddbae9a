package dev.tidepool.methods.bytecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.methods.c.DeviceLimits;
import dev.tidepool.methods.c.MethodGenerator;
import dev.tidepool.methods.c.OpenClC;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ConstantDescs;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ObjIntConsumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Conditions that stand behind each other, or in each other, hundreds of times. */
class DeepStatementsTest {
  private static final DeviceLimits DEVICE =
      new DeviceLimits(true, true, true, Long.MAX_VALUE, Long.MAX_VALUE, "opencl:0");

  private static final int ITEM = 0;
  private static final int ARRAY = 1;
  private static final int SUM = 2;
  private static final int ROUND = 3;

  /** Kernels of {@code (int i, int[] x)} that have something several times. */
  private enum Shape {
    /** {@code if (i == k) sum += k;} behind each other. */
    IFS(
        (code, count) -> {
          for (int k = 0; k < count; k++) {
            Label next = code.newLabel();
            code.iload(ITEM).loadConstant(k).if_icmpne(next).iinc(SUM, k % 100).labelBinding(next);
          }
        }),
    /** {@code if (i == k) return;} behind each other. */
    RETURNS(
        (code, count) -> {
          for (int k = 0; k < count; k++) {
            Label next = code.newLabel();
            code.iload(ITEM).loadConstant(3 * k + 1).if_icmpne(next).return_().labelBinding(next);
          }
        }),
    /** {@code if (i == k) sum += k; else if ...}. */
    ELSE_IFS(
        (code, count) -> {
          Label end = code.newLabel();
          for (int k = 0; k < count; k++) {
            Label next = code.newLabel();
            code.iload(ITEM).loadConstant(k).if_icmpne(next);
            code.iinc(SUM, k % 100 + 1).goto_(end).labelBinding(next);
          }
          code.iinc(SUM, -1).labelBinding(end);
        }),
    /** {@code if (i != -1 && i != -2 && ...) sum++;}. */
    ANDS(
        (code, count) -> {
          Label end = code.newLabel();
          for (int k = 0; k < count; k++) {
            code.iload(ITEM).loadConstant(k == 0 ? 7 : -k).if_icmpeq(end);
          }
          code.iinc(SUM, 1).labelBinding(end);
        }),
    /** {@code switch (i) { case 0, 2, 4, ... -> sum++; }}. */
    LABELS(
        (code, count) -> {
          Label target = code.newLabel();
          Label end = code.newLabel();
          List<SwitchCase> cases = new ArrayList<>();
          IntStream.range(0, count).forEach(k -> cases.add(SwitchCase.of(2 * k, target)));
          code.iload(ITEM).lookupswitch(end, cases).labelBinding(target);
          code.iinc(SUM, 1).labelBinding(end);
        }),
    /** {@code switch (i) { case 0 -> sum += 1; case 2 -> sum += 2; ... }}. */
    CASES(
        (code, count) -> {
          List<SwitchCase> cases = new ArrayList<>();
          IntStream.range(0, count).forEach(k -> cases.add(SwitchCase.of(2 * k, code.newLabel())));
          Label end = code.newLabel();
          code.iload(ITEM).lookupswitch(end, cases);
          cases.forEach(
              one ->
                  code.labelBinding(one.target()).iinc(SUM, one.caseValue() % 100 + 1).goto_(end));
          code.labelBinding(end);
        }),
    /** {@code sum += x[i * x.length] + x[i * x.length + 1] + ...}, and each index is tested. */
    PRODUCTS(
        (code, count) -> {
          code.iload(SUM);
          for (int k = 0; k < count; k++) {
            code.aload(ARRAY).iload(ITEM).aload(ARRAY).arraylength().imul();
            code.loadConstant(k).iadd().iaload().iadd();
          }
          code.istore(SUM);
        }),
    /** {@code for (int j = 0; j < i; j++) sum += x[j * i] + x[j * i + 1] + ...}. */
    PRODUCTS_IN_A_LOOP(
        (code, count) -> {
          Label start = code.newLabel();
          Label end = code.newLabel();
          code.iconst_0().istore(ROUND);
          code.labelBinding(start).iload(ROUND).iload(ITEM).if_icmpge(end);
          code.iload(SUM);
          for (int k = 0; k < count; k++) {
            code.aload(ARRAY).iload(ROUND).iload(ITEM).imul();
            code.loadConstant(k).iadd().iaload().iadd();
          }
          code.istore(SUM).iinc(ROUND, 1).goto_(start).labelBinding(end);
        });

    private final ObjIntConsumer<CodeBuilder> body;

    Shape(ObjIntConsumer<CodeBuilder> body) {
      this.body = body;
    }

    void write(CodeBuilder code, int count) {
      code.iconst_0().istore(SUM);
      body.accept(code, count);
      code.aload(ARRAY).iload(ITEM).iload(SUM).iastore().return_();
    }
  }

  private static KernelSource.Method kernel(Shape shape, int count) {
    return GeneratedMethod.of(
        "Deep", "deep", ConstantDescs.CD_int, code -> shape.write(code, count));
  }

  private static int[] plain(KernelSource.Method source, int items) throws Exception {
    Method method = source.owner().getMethod("deep", int.class, int[].class);
    int[] x = new int[items];
    for (int i = 0; i < items; i++) {
      method.invoke(null, i, x);
    }
    return x;
  }

  private static String openCl(KernelSource.Method source) {
    return MethodGenerator.generate(MethodReader.read(source), new OpenClC(false), DEVICE, true)
        .source();
  }

  /** How many brackets of a kind are open at once. */
  private static int depth(String text, char open, char close) {
    int depth = 0;
    int deepest = 0;
    for (int at = 0; at < text.length(); at++) {
      depth += text.charAt(at) == open ? 1 : text.charAt(at) == close ? -1 : 0;
      deepest = Math.max(deepest, depth);
    }
    return deepest;
  }

  @ParameterizedTest
  @CsvSource({
    "IFS, 2200",
    "RETURNS, 490",
    "ELSE_IFS, 490",
    "ANDS, 490",
    "LABELS, 3000",
    "CASES, 490",
  })
  void theProcessorComputesThem(Shape shape, int count) throws Exception {
    KernelSource.Method source = kernel(shape, count);
    int[] x = new int[300];
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0")) {
      memory.compile(source).execute(Arguments.inOrder(x));
    }
    assertThat(x).isEqualTo(plain(source, x.length));
  }

  @ParameterizedTest
  @CsvSource({
    "IFS, 2200",
    "RETURNS, 400",
    "ELSE_IFS, 400",
    "ANDS, 230",
    "LABELS, 3000",
    "CASES, 490",
    "PRODUCTS, 80",
    "PRODUCTS_IN_A_LOOP, 80"
  })
  void compilersOfDriversSeeFewBracketsInEachOther(Shape shape, int count) {
    String text = openCl(kernel(shape, count));
    assertThat(depth(text, '(', ')')).isLessThan(250);
    assertThat(depth(text, '{', '}')).isLessThan(250);
  }

  @Test
  void conditionsThatNestTooDeepForCompilersOfDriversAreRefused() {
    KernelSource.Method source = kernel(Shape.ANDS, 300);
    assertThatThrownBy(() -> openCl(source))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContainingAll(
            "Deep.deep: what is inside of more than 240 conditions and loops",
            "cannot run on opencl:0",
            "join conditions by &");
  }

  @Test
  void aSwitchOfTooManyCasesIsRefused() {
    KernelSource.Method source = kernel(Shape.CASES, 900);
    assertThatThrownBy(() -> MethodReader.read(source))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContainingAll("Deep.deep", "a switch of 900 cases cannot be part of a kernel");
  }

  @ParameterizedTest
  @CsvSource({"ANDS", "ELSE_IFS", "RETURNS"})
  void conditionsThatNestThousandsOfTimesAreRefused(Shape shape) {
    KernelSource.Method source = kernel(shape, 2000);
    assertThatThrownBy(() -> MethodReader.read(source))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContainingAll(
            "Deep.deep",
            "more than 500 conditions and loops cannot be part of a kernel",
            "divide the method into several kernels");
  }
}
