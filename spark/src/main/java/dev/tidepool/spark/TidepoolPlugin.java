package dev.tidepool.spark;

import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Opens a {@code Tidepool} in each executor of an application when the executor starts, and closes
 * it when the executor ends. Spark loads it by {@code
 * spark.plugins=dev.tidepool.spark.TidepoolPlugin}.
 *
 * <p>The properties {@code spark.tidepool.KEY} are the options of {@link
 * dev.tidepool.MemoryOptions}, and the following:
 *
 * <ul>
 *   <li>{@code accelerator}: an id ({@code opencl:1}), a kind ({@code cuda}), or {@code auto} for
 *       the best, the default. If Spark assigns devices to tasks, a kind or {@code auto}.
 *   <li>{@code resource}: Spark's name for the resource whose addresses are accelerators; by
 *       default {@code gpu}.
 *   <li>{@code chunk-bytes}: the bytes of a partition that are computed at once; by default 1 MiB
 *       if the accelerator shares the host's memory, otherwise 16 MiB.
 * </ul>
 *
 * <p>The address <i>n</i> denotes the accelerator {@code KIND:n}; an address may also be an
 * accelerator's id. An unknown setting, or an invalid value, stops the application at its start
 * with an {@link IllegalArgumentException}.
 */
public final class TidepoolPlugin implements SparkPlugin {
  /** Called by Spark. */
  public TidepoolPlugin() {}

  @Override
  public DriverPlugin driverPlugin() {
    return new DriverPlugin() {
      @Override
      public Map<String, String> init(SparkContext context, PluginContext plugin) {
        // Checked in the driver, because Spark would restart a failing executor again and again.
        Settings.of(context.getConf());
        return Map.of();
      }
    };
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new ExecutorPlugin() {
      @Override
      public void init(PluginContext plugin, Map<String, String> extra) {
        ExecutorSession.start(plugin);
      }

      @Override
      public void shutdown() {
        ExecutorSession.stop();
      }
    };
  }
}
