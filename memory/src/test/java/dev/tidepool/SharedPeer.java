package dev.tidepool;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Another process that shares memory with a test. It does what its first argument says until its
 * input ends, and then ends by itself.
 */
final class SharedPeer implements AutoCloseable {
  private final Process process;
  private final BufferedReader output;

  private SharedPeer(Process process) {
    this.process = process;
    this.output =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  static SharedPeer start(String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx64m", "-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=/dev/null"));
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-Djava.awt.headless=true"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(SharedPeer.class.getName());
    command.addAll(List.of(arguments));
    return new SharedPeer(new ProcessBuilder(command).redirectErrorStream(true).start());
  }

  /** What it says next; empty at its end. */
  String line() throws IOException {
    String line = output.readLine();
    return line == null ? "" : line;
  }

  /** The last line of one that ended. */
  String lastLine() throws IOException {
    String last = "";
    for (String line = line(); !line.isEmpty(); line = line()) {
      last = line;
    }
    return last;
  }

  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  void terminate() throws InterruptedException {
    process.destroy();
    process.waitFor();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  long pid() {
    return process.pid();
  }

  /** Ends its input; its exit status. */
  int end() throws IOException, InterruptedException {
    process.getOutputStream().close();
    return process.waitFor();
  }

  @Override
  public void close() throws InterruptedException {
    kill();
  }

  public static void main(String[] arguments) throws Exception {
    Path path = Path.of(arguments[1]);
    if (arguments[0].equals("hold")) {
      hold(path);
      return;
    }
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(MemoryOptions.builder().sharedDirectory(path).build())) {
      switch (arguments[0]) {
        case "create" -> create(memory);
        case "forget" -> forget(memory);
        case "copy" -> copy(memory);
        case "exchange" -> exchange(memory);
        default -> throw new IllegalArgumentException(arguments[0]);
      }
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static boolean told() {
    try {
      return System.in.available() > 0 || System.in.read() >= 0;
    } catch (IOException e) {
      return false;
    }
  }

  /** Locks a file as its user does. */
  private static void hold(Path file) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      say(channel.tryLock(Long.MAX_VALUE - 1, 1, true) != null ? "holds" : "is locked out");
      told();
    }
  }

  /** Creates "peer" with a pattern, and checks what the test has added to it. */
  private static void create(UnifiedMemoryManager memory) {
    try (UnifiedBuffer<int[]> buffer = memory.createShared(ElementType.INT, 1000, "peer")) {
      int[] values = new int[1000];
      for (int i = 0; i < values.length; i++) {
        values[i] = i;
      }
      buffer.copyFrom(values);
      say("created");
      told();
      buffer.copyTo(values);
      for (int i = 0; i < values.length; i++) {
        if (values[i] != 2 * i + 1) {
          throw new AssertionError("element " + i + " is " + values[i]);
        }
      }
    }
  }

  /** Creates "forgotten" and ends without closing anything. */
  private static void forget(UnifiedMemoryManager memory) {
    say("forgot " + memory.createShared(ElementType.INT, 1000, "forgotten").length());
    told();
    System.exit(7);
  }

  /** Uses "vanishing" in every way while the test shortens it. */
  private static void copy(UnifiedMemoryManager memory) throws Exception {
    int length = 1 << 20;
    float[] values = new float[length];
    int failed = 0;
    int done = 0;
    Thread end = Thread.ofPlatform().daemon().start(SharedPeer::told);
    Kernel kernel = memory.compile(KernelSource.elementwise("x = x + 1"));
    try (UnifiedBuffer<float[]> buffer =
            memory.createShared(ElementType.FLOAT, length, "vanishing");
        UnifiedBuffer<float[]> other = memory.allocate(ElementType.FLOAT, length)) {
      List<Runnable> uses =
          List.of(
              () -> buffer.copyTo(values),
              () -> buffer.copyFrom(values),
              () -> other.copyFrom(buffer),
              () -> buffer.copyFrom(other),
              () -> buffer.fill((byte) 1),
              () -> kernel.execute(Arguments.of("x", buffer)));
      say("ready");
      while (end.isAlive()) {
        for (Runnable use : uses) {
          try {
            use.run();
            done++;
          } catch (TransferException e) {
            failed++;
          }
        }
      }
    }
    say(failed + " failed, " + done + " done");
  }

  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final int WORDS = 1024;
  private static final long ANSWERS_WITHIN_NANOS = 100_000_000L;

  /**
   * Meets another process under the name "meeting" again and again, whichever of the two creates
   * it, and exchanges messages with it. The first four words of the buffer: the two processes,
   * whose turn it is, and the number of the message that fills the rest.
   */
  private static void exchange(UnifiedMemoryManager memory) {
    Thread end = Thread.ofPlatform().daemon().start(SharedPeer::told);
    long messages = 0;
    while (end.isAlive()) {
      try (UnifiedBuffer<long[]> meeting = meet(memory)) {
        long received = talk(meeting.asSegment());
        if (messages == 0 && received > 0) {
          say("met");
        }
        messages += received;
      }
    }
    say(messages + " messages");
  }

  private static UnifiedBuffer<long[]> meet(UnifiedMemoryManager memory) {
    for (; ; ) {
      try {
        return memory.createShared(ElementType.LONG, WORDS, "meeting");
      } catch (TransferException e) {
        if (!(e.getCause() instanceof FileAlreadyExistsException)) {
          throw e;
        }
      }
      try {
        return memory.openShared(ElementType.LONG, "meeting");
      } catch (TransferException e) {
        if (!(e.getCause() instanceof NoSuchFileException)) {
          throw e;
        }
      }
    }
  }

  /** Until the other one is silent; how many messages it sent. */
  private static long talk(MemorySegment words) {
    long me = ProcessHandle.current().pid();
    long side =
        LONG.compareAndSet(words, 0L, 0L, me) ? 0 : LONG.compareAndSet(words, 8L, 0L, me) ? 1 : -1;
    long received = 0;
    long heard = System.nanoTime();
    while (side >= 0 && received < 500 && System.nanoTime() - heard < ANSWERS_WITHIN_NANOS) {
      if ((long) LONG.getAcquire(words, 16L) != side) {
        Thread.onSpinWait();
        continue;
      }
      long number = words.getAtIndex(ValueLayout.JAVA_LONG, 3);
      for (int i = 4; i < WORDS; i++) {
        long seen = words.getAtIndex(ValueLayout.JAVA_LONG, i);
        if (seen != (number == 0 ? 0 : number * 31 + i)) {
          throw new AssertionError("word " + i + " of message " + number + " is " + seen);
        }
        words.setAtIndex(ValueLayout.JAVA_LONG, i, (number + 1) * 31 + i);
      }
      words.setAtIndex(ValueLayout.JAVA_LONG, 3, number + 1);
      LONG.setRelease(words, 16L, 1 - side);
      received += number == 0 ? 0 : 1;
      heard = System.nanoTime();
    }
    return received;
  }
}
