/** The {@code tidepool} command. */
module dev.tidepool.cli {
  requires static org.jspecify;
  requires com.google.gson;
  requires dev.tidepool.memory;
  requires dev.tidepool.opencl;
  requires dev.tidepool.testkit;
  requires info.picocli;
  requires org.junit.platform.launcher;
  requires me.tongfei.progressbar;
}
