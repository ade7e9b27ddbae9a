package dev.tidepool.spark;

import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Gives each executor of an application a {@code Tidepool}, which is opened when the executor
 * starts and closed when it ends. Spark loads it by {@code
 * spark.plugins=dev.tidepool.spark.TidepoolPlugin}.
 *
 * <p>The properties {@code spark.tidepool.KEY} are the options of {@link
 * dev.tidepool.MemoryOptions}, and these:
 *
 * <ul>
 *   <li>{@code accelerator}: an id ({@code opencl:1}), a kind ({@code cuda}), or {@code auto}, the
 *       default: the best. Where Spark assigns devices to tasks, a kind or {@code auto}.
 *   <li>{@code resource}: Spark's name for the resource whose addresses are accelerators; {@code
 *       gpu}.
 *   <li>{@code chunk-bytes}: how much of a partition is computed at once; 1 MiB where the
 *       accelerator shares the host's memory, 16 MiB elsewhere.
 * </ul>
 *
 * <p>The address <i>n</i> is the accelerator {@code KIND:n}; an address may also be an
 * accelerator's id. A setting that does not exist, or has an impossible value, stops the
 * application at its start with an {@link IllegalArgumentException}.
 */
public final class TidepoolPlugin implements SparkPlugin {
  /** Made by Spark. */
  public TidepoolPlugin() {}

  @Override
  public DriverPlugin driverPlugin() {
    return new DriverPlugin() {
      @Override
      public Map<String, String> init(SparkContext context, PluginContext plugin) {
        // An executor that failed here would be started again and again.
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
