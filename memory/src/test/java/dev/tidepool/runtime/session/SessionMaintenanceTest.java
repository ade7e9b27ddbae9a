package dev.tidepool.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Tidepool;
import java.nio.file.Path;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the maintenance thread of a session survives. */
class SessionMaintenanceTest {
  @Test
  void anInterruptDoesNotKeepItAwake() {
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    try (Tidepool tidepool = Tidepool.open("cpu:0")) {
      assertThat(tidepool.accelerators()).isNotEmpty();
      Thread maintenance = startedSince(before);
      maintenance.interrupt();
      await().until(() -> !maintenance.isInterrupted());
    }
  }

  @Test
  @Timeout(120)
  void aFullHeapDoesNotEndIt() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx32m",
                "-cp",
                System.getProperty("java.class.path"),
                FullHeap.class.getName())
            .redirectErrorStream(true)
            .start();
    try {
      String output = new String(process.getInputStream().readAllBytes());
      assertThat(output).contains("the maintenance thread is alive: true");
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  private static Thread startedSince(Set<Thread> before) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !before.contains(thread))
        .filter(thread -> thread.getName().equals("tidepool-maintenance"))
        .findFirst()
        .orElseThrow();
  }

  /** Lets the maintenance thread go some rounds with a full heap. */
  static final class FullHeap {
    private static final class Node {
      final @Nullable Node next;
      final byte[] bytes;

      Node(@Nullable Node next, int size) {
        this.next = next;
        this.bytes = new byte[size];
      }
    }

    private static volatile @Nullable Node all;

    private FullHeap() {}

    public static void main(String[] arguments) throws InterruptedException {
      Set<Thread> before = Thread.getAllStackTraces().keySet();
      try (Tidepool tidepool = Tidepool.open("cpu:0")) {
        Thread maintenance = startedSince(before);
        fillUp();
        Thread.sleep(2_000);
        all = null;
        System.out.println("the maintenance thread is alive: " + maintenance.isAlive());
        System.out.println("on " + tidepool.memory().accelerator());
      }
    }

    private static void fillUp() {
      for (int size = 1 << 20; size > 0; ) {
        try {
          all = new Node(all, size);
        } catch (OutOfMemoryError full) {
          size /= 2;
        }
      }
    }
  }
}
