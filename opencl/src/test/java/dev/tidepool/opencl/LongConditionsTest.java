package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Device;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Conditions that compilers of drivers would refuse if they stood in each other. */
@ExtendWith(NothingLeaks.class)
class LongConditionsTest {
  private static final int COUNT = 300;
  private static final int PRODUCTS = 80;

  /** {@code x[i] = 0; if (i == 0) x[i] = 1; else if (i == 1) x[i] = 2; ...}. */
  private static void chain(CodeBuilder code) {
    Label end = code.newLabel();
    code.iconst_0().istore(2);
    for (int k = 0; k < COUNT; k++) {
      Label next = code.newLabel();
      code.iload(0).loadConstant(k).if_icmpne(next);
      code.loadConstant(k + 1).istore(2).goto_(end).labelBinding(next);
    }
    code.labelBinding(end).aload(1).iload(0).iload(2).iastore().return_();
  }

  /** {@code switch (i) { case 0, 2, 4, ... -> x[i] = 1; }}. */
  private static void labels(CodeBuilder code) {
    Label target = code.newLabel();
    Label end = code.newLabel();
    List<SwitchCase> cases =
        IntStream.range(0, COUNT).mapToObj(k -> SwitchCase.of(2 * k, target)).toList();
    code.iload(0).lookupswitch(end, cases).labelBinding(target);
    code.aload(1).iload(0).iconst_1().iastore().labelBinding(end).return_();
  }

  /** {@code x[i] = x[i * x.length] + x[i * x.length + 1] + ...}, and each index is tested. */
  private static void products(CodeBuilder code) {
    code.aload(1).iload(0).iconst_0();
    for (int k = 0; k < PRODUCTS; k++) {
      code.aload(1).iload(0).aload(1).arraylength().imul().loadConstant(k).iadd().iaload().iadd();
    }
    code.iastore().return_();
  }

  private static KernelSource.Method kernel(String name, Consumer<CodeBuilder> body) {
    MethodTypeDesc type =
        MethodTypeDesc.of(
            ConstantDescs.CD_void, ConstantDescs.CD_int, ConstantDescs.CD_int.arrayType());
    byte[] bytes =
        ClassFile.of()
            .build(
                ClassDesc.of("generated.Long"),
                made ->
                    made.withFlags(ClassFile.ACC_PUBLIC)
                        .withMethodBody(
                            name, type, ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC, body));
    class Loader extends ClassLoader {
      Loader() {
        super(LongConditionsTest.class.getClassLoader());
      }

      Class<?> type() {
        return defineClass(null, bytes, 0, bytes.length);
      }

      @Override
      public InputStream getResourceAsStream(String resource) {
        return new ByteArrayInputStream(bytes);
      }
    }
    return KernelSource.method(MethodHandles.publicLookup().in(new Loader().type()), name);
  }

  @Test
  void aChainOfConditionsAndASwitchOfManyLabelsRun() {
    Pocl.devices().forEach(Device::close);
    int[] chain = new int[1000];
    int[] labels = new int[1000];
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("opencl:0")) {
      memory.compile(kernel("chain", LongConditionsTest::chain)).execute(Arguments.inOrder(chain));
      memory
          .compile(kernel("labels", LongConditionsTest::labels))
          .execute(Arguments.inOrder(labels));
    }
    for (int i = 0; i < 1000; i++) {
      assertThat(chain[i]).isEqualTo(i < COUNT ? i + 1 : 0);
      assertThat(labels[i]).isEqualTo(i % 2 == 0 && i < 2 * COUNT ? 1 : 0);
    }
  }

  @Test
  void aTestOfTheIndicesOfManyAccessesRuns() {
    Pocl.devices().forEach(Device::close);
    int[] x = IntStream.range(0, 1000).toArray();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("opencl:0")) {
      memory
          .compile(kernel("products", LongConditionsTest::products))
          .execute(Arguments.inOrder(x), LaunchRange.of(1));
    }
    assertThat(x[0]).isEqualTo(PRODUCTS * (PRODUCTS - 1) / 2);
    assertThat(x[1]).isEqualTo(1);
  }
}
