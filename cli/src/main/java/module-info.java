/** The {@code tidepool} command. */
module dev.tidepool.cli {
  requires static org.jspecify;
  requires com.google.gson;
  requires dev.tidepool.memory;
  requires dev.tidepool.testkit;
  requires info.picocli;
  requires java.logging;
  requires jdk.httpserver;
  requires me.tongfei.progressbar;
  requires org.junit.platform.launcher;

  uses dev.tidepool.spi.AcceleratorProvider;

  opens dev.tidepool.cli to
      com.google.gson,
      info.picocli,
      org.junit.platform.commons;
  opens dev.tidepool.cli.trace to
      com.google.gson;
}
