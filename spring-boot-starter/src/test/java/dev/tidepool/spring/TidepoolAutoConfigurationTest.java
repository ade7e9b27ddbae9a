package dev.tidepool.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.diagnostics.LeakReport;
import dev.tidepool.micrometer.TidepoolMetrics;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.DestructionAwareBeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@DisplayName("The auto-configuration")
class TidepoolAutoConfigurationTest {
  private final ApplicationContextRunner service =
      new ApplicationContextRunner()
          .withPropertyValues("tidepool.accelerator=cpu:0")
          .withConfiguration(
              AutoConfigurations.of(
                  TidepoolAutoConfiguration.class,
                  TidepoolMetricsAutoConfiguration.class,
                  TidepoolHealthAutoConfiguration.class));

  /** Properties of the build reach the tests, and are no options. */
  @BeforeAll
  static void clearBuildProperties() {
    System.clearProperty("tidepool.errorprone");
    System.clearProperty("tidepool.format");
  }

  @Test
  @DisplayName("gives a Tidepool, one manager and its meters")
  void beans() {
    service.run(
        context -> {
          assertThat(context).hasSingleBean(Tidepool.class);
          UnifiedMemoryManager memory = context.getBean(UnifiedMemoryManager.class);
          assertThat(memory.accelerator().id()).isEqualTo("cpu:0");
          assertThat(context).hasSingleBean(TidepoolMetrics.class);
          assertThat(context).hasBean("tidepoolHealthIndicator");
        });
  }

  @Test
  @DisplayName("loads the drivers of the accelerator that is asked for, and no others")
  void drivers() {
    AtomicInteger discoveries = new AtomicInteger();
    AcceleratorProvider provider =
        new AcceleratorProvider() {
          @Override
          public String name() {
            return "other";
          }

          @Override
          public Discovery discover() {
            discoveries.incrementAndGet();
            return new Discovery(List.of(), List.of());
          }
        };
    Discovery.using(
        List.of(provider),
        () ->
            service.run(context -> assertThat(context).hasSingleBean(UnifiedMemoryManager.class)));
    assertThat(discoveries).hasValue(0);
    Discovery.using(
        List.of(provider),
        () ->
            service
                .withPropertyValues("tidepool.accelerator=auto")
                .run(context -> assertThat(context).hasSingleBean(UnifiedMemoryManager.class)));
    assertThat(discoveries).hasValue(1);
  }

  @Test
  @DisplayName("says which accelerator it uses")
  @ExtendWith(OutputCaptureExtension.class)
  void logged(CapturedOutput output) {
    service.run(
        context -> {
          String name = context.getBean(UnifiedMemoryManager.class).accelerator().name();
          assertThat(output).contains("Kernels run on cpu:0 (" + name + ")");
        });
  }

  @Test
  @DisplayName("has no meters without Micrometer")
  void withoutMicrometer() {
    service
        .withClassLoader(new FilteredClassLoader(MeterBinder.class))
        .run(
            context -> {
              assertThat(context).hasSingleBean(UnifiedMemoryManager.class);
              assertThat(context).doesNotHaveBean("tidepoolMetrics");
            });
  }

  @Test
  @DisplayName("reads names as Spring Boot relaxes them, and times as Spring writes them")
  void relaxed() {
    service
        .withPropertyValues(
            "tidepool.memoryLimit=64MB",
            "tidepool.trim_interval=90s",
            "tidepool.transfer-retry-time=PT2S",
            "tidepool.watermarks[0]=0.5",
            "tidepool.watermarks[1]=0.75")
        .run(
            context -> {
              MemoryOptions options = context.getBean(MemoryOptions.class);
              assertThat(options.memoryLimit()).isEqualTo(64L << 20);
              assertThat(options.trimInterval()).isEqualTo(Duration.ofSeconds(90));
              assertThat(options.transferRetryTime()).isEqualTo(Duration.ofSeconds(2));
              assertThat(options.watermarks()).containsExactly(0.5, 0.75);
            });
  }

  @Test
  @DisplayName("reads times from system properties as from any other place")
  void systemProperties() {
    service
        .withSystemProperties("tidepool.trim-interval=90s", "tidepool.transfer-retry-time=500ms")
        .run(
            context -> {
              MemoryOptions options = context.getBean(MemoryOptions.class);
              assertThat(options.trimInterval()).isEqualTo(Duration.ofSeconds(90));
              assertThat(options.transferRetryTime()).isEqualTo(Duration.ofMillis(500));
            });
  }

  @Test
  @DisplayName("refuses an unknown property and names the nearest")
  void unknownProperty() {
    service
        .withPropertyValues("tidepool.memory-limt=1g")
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageContaining("tidepool.memory-limt")
                    .hasMessageContaining("'memory-limit'"));
  }

  @Test
  @DisplayName("tells of the property that is no option where a property is unknown")
  void unknownAccelerator() {
    service
        .withPropertyValues("tidepool.accelerater=cpu:0")
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .rootCause()
                    .hasMessageContaining("beside the options there is tidepool.accelerator"));
  }

  @Test
  @DisplayName("makes no meters of managers that the service makes anew for each use")
  void prototypes() {
    AtomicInteger made = new AtomicInteger();
    new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(TidepoolMetricsAutoConfiguration.class))
        .withBean(
            UnifiedMemoryManager.class,
            () -> {
              made.incrementAndGet();
              return UnifiedMemoryManager.create("cpu:0");
            },
            definition -> definition.setScope(BeanDefinition.SCOPE_PROTOTYPE))
        .run(
            context -> {
              assertThat(context).hasSingleBean(TidepoolMetrics.class);
              assertThat(made).hasValue(0);
            });
  }

  @Test
  @DisplayName("refuses an impossible value and names the property")
  void impossibleValue() {
    for (String property :
        List.of(
            "tidepool.staging-chunk=1",
            "tidepool.memory-limit=lots",
            "tidepool.watermarks=7",
            "tidepool.trim-interval=soon",
            "tidepool.accelerator=cuda:99",
            "tidepool.spill-directory=/nowhere",
            "tidepool.dump-directory=/nowhere",
            "tidepool.trace=/nowhere/trace",
            "tidepool.kept-pool-bytes=1g")) {
      service
          .withPropertyValues("tidepool.max-pool-bytes=1k", property)
          .run(
              context ->
                  assertThat(context)
                      .getFailure()
                      .hasStackTraceContaining(property.substring(0, property.indexOf('=')))
                      .hasStackTraceContaining("InvalidConfigurationPropertyValueException"));
    }
  }

  @Test
  @DisplayName("refuses properties that only backends read, from system properties")
  void propertiesOfBackends() {
    service
        .withPropertyValues("tidepool.cuda.memory=current")
        .run(
            context ->
                assertThat(context)
                    .getFailure()
                    .hasStackTraceContaining("tidepool.cuda.memory")
                    .hasStackTraceContaining("system properties"));
  }

  @Test
  @DisplayName("lets system properties of backends pass")
  void systemPropertiesOfBackends() {
    service
        .withSystemProperties("tidepool.cuda.memory=current")
        .run(context -> assertThat(context).hasSingleBean(UnifiedMemoryManager.class));
  }

  @Test
  @DisplayName("calls customizers last, and closes the manager before it ends")
  void customizer() {
    List<DiagnosticReport> reports = new CopyOnWriteArrayList<>();
    service
        .withBean(
            TidepoolCustomizer.class,
            () -> options -> options.memoryLimit(1 << 20).reportListener(reports::add))
        .withPropertyValues("tidepool.memory-limit=1g")
        .run(
            context -> {
              UnifiedMemoryManager memory = context.getBean(UnifiedMemoryManager.class);
              assertThat(memory.limit()).hasValue(1 << 20);
              assertThat(memory.allocate(ElementType.INT, 10).length()).isEqualTo(10);
              context.close();
              assertThat(reports).singleElement().isInstanceOf(LeakReport.class);
            });
  }

  private static String state(String name, Runnable use) {
    try {
      use.run();
      return name + " is open";
    } catch (IllegalStateException e) {
      return name + " is closed";
    }
  }

  @Test
  @DisplayName("closes the manager, and then the Tidepool")
  void closes() {
    List<UnifiedMemoryManager> managers = new CopyOnWriteArrayList<>();
    List<String> states = new CopyOnWriteArrayList<>();
    service
        .withBean(
            DestructionAwareBeanPostProcessor.class,
            () ->
                (bean, _) -> {
                  if (bean instanceof UnifiedMemoryManager memory) {
                    managers.add(memory);
                  } else if (bean instanceof Tidepool tidepool) {
                    managers.forEach(each -> states.add(state("the manager", each::synchronize)));
                    states.add(state("the Tidepool", tidepool::orchestrator));
                  }
                })
        .run(
            context -> {
              Tidepool tidepool = context.getBean(Tidepool.class);
              assertThat(context).hasSingleBean(UnifiedMemoryManager.class);
              context.close();
              states.add(state("the Tidepool", tidepool::orchestrator));
            });
    // The first two are from the moment before Spring closes the Tidepool.
    assertThat(states)
        .containsExactly("the manager is closed", "the Tidepool is open", "the Tidepool is closed");
  }

  @Test
  @DisplayName("gives way to beans of the service")
  void givesWay() {
    service
        .withBean(MemoryOptions.class, () -> MemoryOptions.builder().memoryLimit(4096).build())
        .run(
            context ->
                assertThat(context.getBean(UnifiedMemoryManager.class).limit()).hasValue(4096));
  }

  @Test
  @DisplayName("analyses denied native access")
  void nativeAccess() {
    var analysis =
        new NativeAccessFailureAnalyzer()
            .analyze(
                new IllegalStateException(
                    "bean", new IllegalCallerException("Illegal native access from Tidepool")));
    assertThat(analysis).isNotNull();
    assertThat(analysis.getAction()).contains("--enable-native-access");
    assertThat(new NativeAccessFailureAnalyzer().analyze(new IllegalCallerException("other")))
        .isNull();
  }
}
