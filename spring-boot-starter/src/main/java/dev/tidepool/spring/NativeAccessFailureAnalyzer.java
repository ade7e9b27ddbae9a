package dev.tidepool.spring;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Tells how to allow native access if Java was started without it. */
final class NativeAccessFailureAnalyzer extends AbstractFailureAnalyzer<IllegalCallerException> {
  @Override
  protected @Nullable FailureAnalysis analyze(Throwable root, IllegalCallerException cause) {
    String message = Objects.toString(cause.getMessage(), "");
    if (!message.contains("native access")) {
      return null;
    }
    return new FailureAnalysis(
        "Tidepool cannot open the drivers of accelerators: " + message,
        "Start Java with --enable-native-access=ALL-UNNAMED, or write 'Enable-Native-Access:"
            + " ALL-UNNAMED' into the manifest of the jar that 'java -jar' runs. To compute on the"
            + " processor without drivers, set tidepool.accelerator=cpu:0.",
        cause);
  }
}
