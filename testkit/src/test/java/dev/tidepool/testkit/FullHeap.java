package dev.tidepool.testkit;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.NewMultiArrayInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.NewPrimitiveArrayInstruction;
import java.lang.classfile.instruction.NewReferenceArrayInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A heap that seems to be full from a chosen allocation of the library on. The library is loaded a
 * second time for that, with a question in front of everything that takes memory: each {@code new},
 * each lambda and text that is put together, and each call of a method of the JDK that may.
 */
public final class FullHeap {
  /** How long it stays full: as long as calls may have to wait for it. */
  private static final long FULL_NANOS = TimeUnit.MILLISECONDS.toNanos(3);

  private static final Set<String> ALLOCATING =
      Set.of(
          "add",
          "addAll",
          "addLast",
          "addSuppressed",
          "asSlice",
          "complete",
          "completeOnTimeout",
          "completeExceptionally",
          "compute",
          "computeIfAbsent",
          "copyOf",
          "execute",
          "formatted",
          "handle",
          "iterator",
          "map",
          "merge",
          "newThread",
          "of",
          "offer",
          "ofPlatform",
          "push",
          "put",
          "putIfAbsent",
          "reinterpret",
          "schedule",
          "start",
          "stream",
          "submit",
          "thenAccept",
          "thenRun",
          "toArray",
          "toList",
          "whenComplete",
          "where");

  private static final AtomicLong UNTIL_FULL = new AtomicLong(Long.MAX_VALUE);
  private static volatile boolean lasting;
  private static volatile boolean hit;
  private static volatile long fullSince;

  private FullHeap() {}

  /**
   * Lets an allocation fail.
   *
   * @param number how many come before it
   * @param stays whether those behind it fail too, for a while
   */
  public static void fillUpAfter(int number, boolean stays) {
    hit = false;
    lasting = stays;
    UNTIL_FULL.set(number + 1L);
  }

  /** Lets every allocation succeed; whether any failed. */
  public static boolean clear() {
    UNTIL_FULL.set(Long.MAX_VALUE);
    lasting = false;
    return hit;
  }

  /** Called by the library before it takes memory. */
  public static void take() {
    if (UNTIL_FULL.get() == Long.MAX_VALUE || isOfDriver(Thread.currentThread())) {
      return;
    }
    long left = UNTIL_FULL.decrementAndGet();
    if (left == 0 && initializesClass()) {
      UNTIL_FULL.compareAndSet(0, 1);
    } else if (left == 0) {
      fullSince = System.nanoTime();
      hit = true;
      throw new OutOfMemoryError("on purpose");
    }
    if (left < 0
        && hit
        && lasting
        && System.nanoTime() - fullSince < FULL_NANOS
        && !initializesClass()) {
      throw new OutOfMemoryError("on purpose");
    }
  }

  /** A driver has memory of its own. */
  private static boolean isOfDriver(Thread thread) {
    return thread.getName().contains(" queue ");
  }

  /** What fails while a class is initialized makes it useless for ever, in every program. */
  private static boolean initializesClass() {
    return StackWalker.getInstance()
        .walk(
            frames ->
                frames.anyMatch(
                    frame -> frame.getMethodName().equals(ConstantDescs.CLASS_INIT_NAME)));
  }

  /**
   * Runs what a test does with a library whose heap can be full.
   *
   * @param scenario has a constructor with one parameter
   * @param type of the parameter
   */
  static void run(Class<? extends Callable<?>> scenario, Class<?> type, Object argument)
      throws Exception {
    var constructor = loader().loadClass(scenario.getName()).getDeclaredConstructor(type);
    constructor.setAccessible(true);
    ((Callable<?>) constructor.newInstance(argument)).call();
  }

  /** Loads the library and its tests again. */
  static ClassLoader loader() {
    return new Loader(FullHeap.class.getClassLoader());
  }

  private static final class Loader extends ClassLoader {
    private static final String PREFIX = "dev.tidepool.";

    Loader(ClassLoader parent) {
      super(parent);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith(PREFIX) || name.equals(FullHeap.class.getName())) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> known = findLoadedClass(name);
        return known == null ? define(name) : known;
      }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
      try (var file = getResourceAsStream(name.replace('.', '/') + ".class")) {
        if (file == null) {
          throw new ClassNotFoundException(name);
        }
        byte[] bytes = file.readAllBytes();
        byte[] asking = name.startsWith(PREFIX + "testkit.") ? bytes : asking(bytes);
        return defineClass(name, asking, 0, asking.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }

    private static byte[] asking(byte[] bytes) {
      ClassFile file = ClassFile.of();
      CodeTransform questions = Loader::ask;
      return file.transformClass(
          file.parse(bytes), ClassTransform.transformingMethodBodies(questions));
    }

    private static void ask(CodeBuilder code, CodeElement element) {
      boolean takes =
          switch (element) {
            case NewObjectInstruction _,
                NewPrimitiveArrayInstruction _,
                NewReferenceArrayInstruction _,
                NewMultiArrayInstruction _,
                InvokeDynamicInstruction _ ->
                true;
            case InvokeInstruction call ->
                (call.owner().asInternalName().startsWith("java/") || completes(call))
                    && ALLOCATING.contains(call.name().stringValue());
            default -> false;
          };
      if (takes) {
        code.invokestatic(
            ClassDesc.of(FullHeap.class.getName()),
            "take",
            MethodTypeDesc.of(ConstantDescs.CD_void));
      }
      code.with(element);
    }

    /** Whether it is a method of the JDK's that a future of the library inherits. */
    private static boolean completes(InvokeInstruction call) {
      return call.name().stringValue().startsWith("complete")
          && call.typeSymbol().parameterCount() == 1
          && call.typeSymbol().returnType().equals(ConstantDescs.CD_boolean);
    }
  }
}
