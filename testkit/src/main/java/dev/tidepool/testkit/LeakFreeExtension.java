package dev.tidepool.testkit;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.spi.support.ManagerObserver;
import java.lang.reflect.Field;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;

/**
 * Implements {@link LeakFree}. All state is in the test's own store, so tests may run concurrently.
 *
 * <p>The class is compiled with the interfaces of JUnit 5.12, and runs with them and with JUnit 6.
 */
final class LeakFreeExtension
    implements BeforeEachCallback,
        BeforeTestExecutionCallback,
        AfterTestExecutionCallback,
        AfterEachCallback,
        ParameterResolver {
  private static final ExtensionContext.Namespace NAMESPACE =
      ExtensionContext.Namespace.create(LeakFreeExtension.class);

  /**
   * The Tidepool of the parameters. JUnit 5.12 closes only {@code CloseableResource} in its stores;
   * later versions warn about one that is not also an {@code AutoCloseable}.
   */
  private record Provided(Tidepool tidepool, UnifiedMemoryManager manager)
      implements AutoCloseable, ExtensionContext.Store.CloseableResource {
    @Override
    public void close() {
      tidepool.close();
    }
  }

  /** The watch of a test, and the observer that it replaced. */
  private record Installed(ManagerWatch watch, @Nullable ManagerObserver previous) {}

  /** Gives parameters of the constructor to one test, if each test has its own instance. */
  @Override
  public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext root) {
    return ExtensionContextScope.TEST_METHOD;
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    return type == Tidepool.class || type == UnifiedMemoryManager.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Provided provided =
        store(context).getOrComputeIfAbsent(Provided.class, _ -> provide(context), Provided.class);
    return parameter.getParameter().getType() == Tidepool.class
        ? provided.tidepool()
        : provided.manager();
  }

  private static Provided provide(ExtensionContext context) {
    Tidepool tidepool =
        Tidepool.open(
            MemoryOptions.builder().diagnostics(DiagnosticsLevel.SITES).siteSampling(1).build());
    try {
      return new Provided(tidepool, tidepool.memory(tidepool.accelerator(accelerator(context))));
    } catch (RuntimeException e) {
      tidepool.close();
      throw e;
    }
  }

  /**
   * Returns the accelerator that the method's annotation names, or the innermost annotated class's.
   */
  private static String accelerator(ExtensionContext context) {
    return AnnotationSupport.findAnnotation(context.getElement(), LeakFree.class)
        .map(LeakFree::accelerator)
        .orElseGet(() -> context.getParent().map(LeakFreeExtension::accelerator).orElse("auto"));
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    ManagerWatch watch = new ManagerWatch();
    store(context).put(Installed.class, new Installed(watch, ManagerObserver.installed()));
    ManagerObserver.install(watch);
  }

  @Override
  public void beforeTestExecution(ExtensionContext context) {
    installed(context).watch().begin(managers(context));
  }

  @Override
  public void afterTestExecution(ExtensionContext context) {
    // Looks now, because the manager may be closed before the next look.
    installed(context).watch().look(managers(context));
  }

  @Override
  public void afterEach(ExtensionContext context) {
    Installed installed = store(context).get(Installed.class, Installed.class);
    if (installed == null) {
      // An earlier extension failed, and the test did not begin.
      return;
    }
    ManagerObserver.install(installed.previous());
    List<ManagerWatch.Leak> leaks = installed.watch().leaks();
    if (!leaks.isEmpty() && context.getExecutionException().isEmpty()) {
      throw new AssertionError(
          "the test left %s open; close them, best with try-with-resources:%s"
              .formatted(
                  leaks.size() == 1 ? "1 buffer" : leaks.size() + " buffers",
                  leaks.stream()
                      .map(leak -> describe(leak.manager(), leak.buffer()))
                      .collect(Collectors.joining("\n  ", "\n  ", ""))));
    }
  }

  private static String describe(UnifiedMemoryManager manager, BufferInfo leak) {
    return "%s: %s[%s], %s bytes in %s of %s%s"
        .formatted(
            leak.tag().isEmpty() ? "untagged" : "'" + leak.tag() + "'",
            leak.elementType(),
            leak.length(),
            leak.byteSize(),
            leak.location(),
            manager.accelerator().id(),
            leak.site().isEmpty()
                ? "; DiagnosticsLevel.SITES records where it was allocated"
                : ", allocated at\n    " + leak.site().replace("\n", "\n    "));
  }

  /** Returns the managers of parameters and fields, including those of each Tidepool. */
  private static Set<UnifiedMemoryManager> managers(ExtensionContext context) {
    IdentityHashMap<UnifiedMemoryManager, Boolean> found = new IdentityHashMap<>();
    Provided provided = store(context).get(Provided.class, Provided.class);
    if (provided != null) {
      addManagers(found, provided.tidepool());
    }
    for (Object instance :
        context.getTestInstances().map(all -> all.getAllInstances()).orElse(List.of())) {
      List<Field> fields =
          ReflectionSupport.findFields(
              instance.getClass(),
              field ->
                  field.getType() == Tidepool.class
                      || field.getType() == UnifiedMemoryManager.class,
              HierarchyTraversalMode.TOP_DOWN);
      for (Field field : fields) {
        addManagers(found, valueOf(field, instance));
      }
    }
    return found.keySet();
  }

  private static @Nullable Object valueOf(Field field, Object instance) {
    return ReflectionSupport.tryToReadFieldValue(field, instance).toOptional().orElse(null);
  }

  private static void addManagers(
      Map<UnifiedMemoryManager, Boolean> found, @Nullable Object value) {
    if (value instanceof UnifiedMemoryManager manager) {
      found.put(manager, true);
    } else if (value instanceof Tidepool tidepool) {
      try {
        tidepool
            .accelerators()
            .forEach(accelerator -> found.put(tidepool.memory(accelerator), true));
      } catch (IllegalStateException e) {
        // closed: its managers are closed too, and were seen before
      }
    }
  }

  private static Installed installed(ExtensionContext context) {
    return Optional.ofNullable(store(context).get(Installed.class, Installed.class)).orElseThrow();
  }

  private static ExtensionContext.Store store(ExtensionContext context) {
    return context.getStore(NAMESPACE);
  }
}
