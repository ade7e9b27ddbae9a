package dev.tidepool.methods.bytecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Class files that a class loader does not find, or that are broken. */
class ClassFilesTest {
  private static final String KERNELS = "generated/Kernels";
  private static final String CALLED = "generated/Called";
  private static final MethodTypeDesc OF_INTS =
      MethodTypeDesc.of(
          ConstantDescs.CD_void, ConstantDescs.CD_int, ConstantDescs.CD_int.arrayType());
  private static final MethodTypeDesc OF_ONE =
      MethodTypeDesc.of(ConstantDescs.CD_int, ConstantDescs.CD_int);

  /** A class loader whose class files come from elsewhere than its classes. */
  private static final class Loader extends ClassLoader {
    private final Map<String, Supplier<@Nullable InputStream>> files = new HashMap<>();

    Loader() {
      super(ClassFilesTest.class.getClassLoader());
    }

    /** The kernel of a class that is loaded from bytes. */
    KernelSource.Method kernel(byte[] bytes, String name) {
      Class<?> type = defineClass(null, bytes, 0, bytes.length);
      return KernelSource.method(MethodHandles.publicLookup().in(type), name);
    }

    Loader with(String internalName, Supplier<@Nullable InputStream> file) {
      files.put(internalName + ".class", file);
      return this;
    }

    @Override
    public @Nullable InputStream getResourceAsStream(String name) {
      return files.containsKey(name) ? files.get(name).get() : super.getResourceAsStream(name);
    }
  }

  /** A class with one public static method. */
  private static byte[] built(
      String internalName, String method, MethodTypeDesc type, Consumer<CodeBuilder> body) {
    return ClassFile.of()
        .build(
            ClassDesc.ofInternalName(internalName),
            made ->
                made.withFlags(ClassFile.ACC_PUBLIC)
                    .withMethodBody(
                        method, type, ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC, body));
  }

  /** {@code x[i] = Called.twice(i)} in line 7. */
  private static byte[] kernels() {
    return built(
        KERNELS,
        "called",
        OF_INTS,
        code ->
            code.lineNumber(7)
                .aload(1)
                .iload(0)
                .iload(0)
                .invokestatic(ClassDesc.ofInternalName(CALLED), "twice", OF_ONE)
                .iastore()
                .return_());
  }

  private static byte[] called() {
    return built(CALLED, "twice", OF_ONE, code -> code.iload(0).iload(0).iadd().ireturn());
  }

  private static Supplier<@Nullable InputStream> file(byte[] bytes) {
    return () -> new ByteArrayInputStream(bytes);
  }

  private static Supplier<@Nullable InputStream> unreadable() {
    return () ->
        new InputStream() {
          @Override
          public int read() throws IOException {
            throw new IOException("no such disk");
          }
        };
  }

  private static void refused(Loader loader, String... parts) {
    KernelSource.Method kernel = loader.kernel(kernels(), "called");
    assertThatThrownBy(() -> MethodReader.read(kernel))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContainingAll(parts);
  }

  @Test
  void theClassFileOfTheKernelCannotBeRead() {
    String kernel = "Kernels.called cannot be translated, because its class file cannot be read";
    refused(
        new Loader().with(KERNELS, () -> null),
        kernel,
        "declare it in a class that a class loader finds as a resource");
    refused(new Loader().with(KERNELS, unreadable()), kernel, "no such disk");
    refused(new Loader().with(KERNELS, file(new byte[] {1, 2, 3})), kernel);
  }

  @Test
  void theClassFileOfAMethodThatIsCalledCannotBeRead() {
    String[] call = {
      "Kernels.called, line 7: the call of Called.twice, whose class file cannot be read",
      "write what it does in the kernel's class"
    };
    refused(new Loader().with(KERNELS, file(kernels())).with(CALLED, () -> null), call);
    refused(new Loader().with(KERNELS, file(kernels())).with(CALLED, unreadable()), call);
    refused(new Loader().with(KERNELS, file(kernels())).with(CALLED, file(new byte[1000])), call);
  }

  /** Parts of a class file are looked at when they are needed, so any may be found broken late. */
  @Test
  void aClassFileThatEndsTooEarlyIsRefusedWhereverItEnds() {
    byte[] whole = called();
    for (int length = 0; length < whole.length; length++) {
      Loader loader =
          new Loader()
              .with(KERNELS, file(kernels()))
              .with(CALLED, file(Arrays.copyOf(whole, length)));
      refused(loader, "Kernels.called, line 7: the call of Called.twice, whose class file");
    }
    KernelSource.Method kernel =
        new Loader()
            .with(KERNELS, file(kernels()))
            .with(CALLED, file(whole))
            .kernel(kernels(), "called");
    assertThat(MethodReader.read(kernel).parameters()).hasSize(1);
  }

  /** Java's compiler makes no such loop. */
  @Test
  void aLoopWithTwoEntriesIsRefused() {
    byte[] kernels =
        built(
            KERNELS,
            "jumps",
            OF_INTS,
            code -> {
              Label top = code.newLabel();
              Label middle = code.newLabel();
              code.lineNumber(3)
                  .iload(0)
                  .ifgt(middle)
                  .labelBinding(top)
                  .iinc(0, 1)
                  .labelBinding(middle)
                  .iinc(0, -3)
                  .iload(0)
                  .ifgt(top)
                  .return_();
            });
    KernelSource.Method jumps = new Loader().with(KERNELS, file(kernels)).kernel(kernels, "jumps");
    assertThatThrownBy(() -> MethodReader.read(jumps))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContainingAll(
            "Kernels.jumps, line 3",
            "a loop with two entries",
            "compile the class from Java source");
  }
}
