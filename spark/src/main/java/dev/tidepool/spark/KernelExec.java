package dev.tidepool.spark;

import java.util.HashMap;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Runs a kernel over the {@link RowChunk}s of a {@link KernelInputExec}, and returns them with the
 * results. Public because Spark copies it by reflection.
 */
public final class KernelExec extends UnaryPlan {
  private static final long serialVersionUID = 1L;

  private final KernelParts<SparkPlan> parts;
  private final HashMap<String, SQLMetric> metrics = new HashMap<>();

  /** Called by Spark through reflection. */
  public KernelExec(
      TypedKernel kernel, Seq<Attribute> inputs, Seq<Attribute> results, SparkPlan child) {
    this(new KernelParts<>(kernel, inputs, results, child));
  }

  KernelExec(KernelParts<SparkPlan> parts) {
    this.parts = parts;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    KernelTask task = new KernelTask(parts.kernel(), places(), metric("launches"), metric("time"));
    return parts.child().execute().mapPartitions(task, false, ROW);
  }

  private int[] places() {
    List<Attribute> columns = Scala.list(parts.child().output());
    return Scala.list(parts.inputs()).stream()
        .mapToInt(
            input ->
                columns.indexOf(
                    columns.stream()
                        .filter(column -> column.exprId().equals(input.exprId()))
                        .findFirst()
                        .orElseThrow()))
        .toArray();
  }

  @Override
  public scala.collection.immutable.Map<String, SQLMetric> metrics() {
    if (metrics.isEmpty()) {
      metrics.put("launches", SQLMetrics.createMetric(sparkContext(), "kernel launches"));
      metrics.put(
          "time",
          SQLMetrics.createNanoTimingMetric(sparkContext(), "time in kernels and transfers", -1));
    }
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(metrics));
  }

  private SQLMetric metric(String name) {
    return metrics().apply(name);
  }

  @Override
  public Seq<Attribute> output() {
    return parts.output();
  }

  @Override
  public AttributeSet producedAttributes() {
    return parts.produced();
  }

  @Override
  public String nodeName() {
    return "TidepoolKernel";
  }

  @Override
  public SparkPlan child() {
    return parts.child();
  }

  @Override
  public SparkPlan withNewChildInternal(SparkPlan child) {
    return new KernelExec(parts.withChild(child));
  }

  @Override
  List<Object> elements() {
    return parts.elements();
  }
}
