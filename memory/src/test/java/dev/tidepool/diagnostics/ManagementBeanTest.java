package dev.tidepool.diagnostics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.management.ManagementFactory;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.timer.Timer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With the option {@code jmx}, management consoles see each manager. */
final class ManagementBeanTest {
  private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();
  private static final int MIB = 1 << 20;

  @TempDir private Path folder;

  private static UnifiedMemoryManager managed() {
    return UnifiedMemoryManager.create(MemoryOptions.builder().jmx(true).build());
  }

  private static Set<ObjectName> names() throws Exception {
    return SERVER.queryNames(new ObjectName("dev.tidepool:type=Memory,*"), null);
  }

  private static UnifiedMemoryMXBean bean() throws Exception {
    assertThat(names()).hasSize(1);
    return JMX.newMXBeanProxy(SERVER, names().iterator().next(), UnifiedMemoryMXBean.class);
  }

  @Test
  void aManagerIsSeenFromItsBeginningToItsCloseIfTheOptionIsOn() throws Exception {
    try (UnifiedMemoryManager unseen = UnifiedMemoryManager.create()) {
      assertThat(names()).isEmpty();
      UnifiedMemoryManager memory = managed();
      assertThat(names())
          .singleElement()
          .satisfies(
              name -> {
                assertThat(name.getKeyProperty("accelerator"))
                    .isEqualTo(ObjectName.quote(memory.accelerator().id()));
                assertThat(name.getKeyProperty("id")).containsOnlyDigits();
              });
      memory.close();
      assertThat(names()).isEmpty();
      assertThat(unseen.accelerator()).isNotNull();
    }
  }

  @Test
  void twoManagersHaveTwoNames() throws Exception {
    try (UnifiedMemoryManager first = managed();
        UnifiedMemoryManager second = managed()) {
      assertThat(names()).hasSize(2);
      assertThat(first.accelerator().id()).isEqualTo(second.accelerator().id());
    }
  }

  @Test
  void aNameThatAnotherClassLoaderHasTakenIsLeftOut() throws Exception {
    try (UnifiedMemoryManager first = managed()) {
      ObjectName name = names().iterator().next();
      ObjectName next = new ObjectName(name.toString().replaceAll("id=.*", "id=" + (id(name) + 1)));
      SERVER.registerMBean(new Timer(), next);
      try (UnifiedMemoryManager second = managed()) {
        assertThat(names())
            .extracting(ManagementBeanTest::id)
            .containsExactlyInAnyOrder(id(name), id(name) + 1, id(name) + 2);
        assertThat(first.accelerator().id()).isEqualTo(second.accelerator().id());
      } finally {
        SERVER.unregisterMBean(next);
      }
    }
  }

  private static long id(ObjectName name) {
    return Long.parseLong(name.getKeyProperty("id"));
  }

  @Test
  void theBeanOfAForgottenManagerGoes() throws Exception {
    assertThat(managed().accelerator()).isNotNull();
    await()
        .until(
            () -> {
              System.gc();
              return names().isEmpty();
            });
  }

  @Test
  void everyFigureIsThereForAConsoleThatDoesNotKnowTheLibrary() throws Exception {
    try (UnifiedMemoryManager memory = managed();
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, MIB)) {
      assertThat(buffer.length()).isEqualTo(MIB);
      ObjectName name = names().iterator().next();
      CompositeData statistics = (CompositeData) SERVER.getAttribute(name, "Statistics");
      for (RecordComponent component : MemoryStatistics.class.getRecordComponents()) {
        assertThat(statistics.containsKey(component.getName())).as(component.getName()).isTrue();
      }
      assertThat(statistics.get("totalAllocated")).isEqualTo((long) MIB);
      assertThat(SERVER.getAttribute(name, "Accelerator")).isEqualTo(memory.accelerator().id());
    }
  }

  @Test
  void aProxyHasTheSameFiguresAsTheManager() throws Exception {
    try (UnifiedMemoryManager memory = managed()) {
      memory.allocate(ElementType.BYTE, MIB).close();
      memory.allocate(ElementType.BYTE, MIB).close();
      assertThat(bean().getStatistics())
          .usingRecursiveComparison()
          .ignoringFields("uptimeNanos")
          .isEqualTo(memory.statistics());
      assertThat(bean().getHitRate()).isEqualTo(0.5);
    }
  }

  @Test
  void trimGivesIdleBlocksBack() throws Exception {
    try (UnifiedMemoryManager memory = managed()) {
      memory.allocate(ElementType.BYTE, 2 * MIB).close();
      assertThat(bean().trim()).isEqualTo(2 * MIB);
      assertThat(memory.statistics().totalPooled()).isZero();
    }
  }

  @Test
  void defragmentGivesSlabsBackThatOthersHaveLeft() throws Exception {
    try (UnifiedMemoryManager memory = managed()) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 0; i < 4000; i++) {
        buffers.add(memory.allocate(ElementType.BYTE, 4096));
      }
      for (int i = 0; i < buffers.size(); i++) {
        if (i % 8 != 0) {
          buffers.get(i).close();
        }
      }
      assertThat(bean().defragment()).isGreaterThan(2 * MIB);
    }
  }

  @Test
  void dumpWritesASnapshotAndReplacesNoFile() throws Exception {
    String file = folder.resolve("dump.json").toString();
    try (UnifiedMemoryManager memory = managed()) {
      bean().dump(file);
      assertThat(Files.readString(Path.of(file)))
          .contains("\"accelerator\":\"" + memory.accelerator().id());
      assertThatThrownBy(() -> bean().dump(file))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("it exists");
    }
  }
}
