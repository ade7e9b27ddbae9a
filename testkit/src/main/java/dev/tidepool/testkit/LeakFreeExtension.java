package dev.tidepool.testkit;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;

/**
 * What {@link LeakFree} does. Keeps everything in the test's own store, so tests may run at once.
 */
final class LeakFreeExtension
    implements BeforeTestExecutionCallback,
        AfterTestExecutionCallback,
        AfterEachCallback,
        ParameterResolver {
  private static final ExtensionContext.Namespace NAMESPACE =
      ExtensionContext.Namespace.create(LeakFreeExtension.class);

  /** What was live in a manager before and after the test method. */
  private static final class Watched {
    private final List<BufferInfo> before;
    private List<BufferInfo> after = List.of();

    Watched(List<BufferInfo> before) {
      this.before = before;
    }
  }

  /** The Tidepool that parameters come from. */
  private record Provided(Tidepool tidepool, UnifiedMemoryManager manager)
      implements AutoCloseable {
    @Override
    public void close() {
      tidepool.close();
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    return type == Tidepool.class || type == UnifiedMemoryManager.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Provided provided =
        store(context).computeIfAbsent(Provided.class, _ -> provide(context), Provided.class);
    return parameter.getParameter().getType() == Tidepool.class
        ? provided.tidepool()
        : provided.manager();
  }

  private static Provided provide(ExtensionContext context) {
    String id =
        AnnotationSupport.findAnnotation(context.getElement(), LeakFree.class)
            .or(
                () ->
                    AnnotationSupport.findAnnotation(
                        context.getRequiredTestClass(),
                        LeakFree.class,
                        context.getEnclosingTestClasses()))
            .map(LeakFree::accelerator)
            .orElse("auto");
    Tidepool tidepool =
        Tidepool.open(
            MemoryOptions.builder().diagnostics(DiagnosticsLevel.SITES).siteSampling(1).build());
    return new Provided(tidepool, tidepool.memory(tidepool.accelerator(id)));
  }

  @Override
  public void beforeTestExecution(ExtensionContext context) {
    IdentityHashMap<UnifiedMemoryManager, Watched> watched = new IdentityHashMap<>();
    for (UnifiedMemoryManager manager : managers(context)) {
      watched.put(manager, new Watched(orNone(live(manager))));
    }
    store(context).put(Watched.class, watched);
  }

  @Override
  public void afterTestExecution(ExtensionContext context) {
    IdentityHashMap<UnifiedMemoryManager, Watched> watched = watched(context);
    for (UnifiedMemoryManager manager : managers(context)) {
      watched.computeIfAbsent(manager, _ -> new Watched(List.of())).after = orNone(live(manager));
    }
  }

  @Override
  public void afterEach(ExtensionContext context) {
    List<String> leaks = new ArrayList<>();
    watched(context)
        .forEach(
            (manager, watched) -> {
              List<BufferInfo> now = live(manager);
              without(now == null ? watched.after : now, watched.before)
                  .forEach(leak -> leaks.add(describe(manager, leak)));
            });
    if (!leaks.isEmpty() && context.getExecutionException().isEmpty()) {
      throw new AssertionError(
          "the test left %d buffers open; close them, best with try-with-resources:%s"
              .formatted(
                  leaks.size(), leaks.stream().collect(Collectors.joining("\n  ", "\n  ", ""))));
    }
  }

  private static String describe(UnifiedMemoryManager manager, BufferInfo leak) {
    return "%s: %s[%d], %d bytes in %s of %s%s"
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

  /** What is live now, pending work done; null if the manager is closed. */
  private static @Nullable List<BufferInfo> live(UnifiedMemoryManager manager) {
    try {
      manager.synchronize();
      return manager.buffers();
    } catch (IllegalStateException e) {
      return null;
    }
  }

  private static List<BufferInfo> orNone(@Nullable List<BufferInfo> buffers) {
    return buffers == null ? List.of() : buffers;
  }

  /** What identifies a buffer among snapshots: all but its state and age. */
  private record Identity(String tag, String type, long length, String location, String site) {
    Identity(BufferInfo info) {
      this(info.tag(), info.elementType(), info.length(), info.location().name(), info.site());
    }
  }

  private static List<BufferInfo> without(List<BufferInfo> all, List<BufferInfo> known) {
    Map<Identity, Integer> counts = new HashMap<>();
    known.forEach(info -> counts.merge(new Identity(info), 1, Integer::sum));
    return all.stream()
        .filter(info -> counts.merge(new Identity(info), -1, Integer::sum) < 0)
        .toList();
  }

  /** The managers of parameters and of fields; a Tidepool stands for those of its accelerators. */
  private static List<UnifiedMemoryManager> managers(ExtensionContext context) {
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
    return List.copyOf(found.keySet());
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
        // closed: its managers are closed with it, and were seen before
      }
    }
  }

  @SuppressWarnings("unchecked") // put there by beforeTestExecution only
  private static IdentityHashMap<UnifiedMemoryManager, Watched> watched(ExtensionContext context) {
    IdentityHashMap<UnifiedMemoryManager, Watched> watched =
        store(context).get(Watched.class, IdentityHashMap.class);
    return watched == null ? new IdentityHashMap<>() : watched;
  }

  private static ExtensionContext.Store store(ExtensionContext context) {
    return context.getStore(NAMESPACE);
  }
}
