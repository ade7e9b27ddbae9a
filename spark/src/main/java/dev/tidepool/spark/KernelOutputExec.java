package dev.tidepool.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.Seq;

/**
 * Reads rows from the {@link RowChunk}s of a {@link KernelExec}, as a part of the code that Spark
 * generates for the stage above. Public because Spark copies it by reflection.
 */
public final class KernelOutputExec extends GeneratedPlan {
  private static final long serialVersionUID = 1L;

  /** Called by Spark through reflection. */
  public KernelOutputExec(SparkPlan child) {
    super(child);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    ChunkRows rows = new ChunkRows(Scala.schema(output()));
    return child().execute().mapPartitions(rows, false, ROW);
  }

  @Override
  public Seq<RDD<InternalRow>> inputRDDs() {
    return Scala.seq(List.of(child().execute()));
  }

  @Override
  public String doProduce(CodegenContext context) {
    String chunks =
        context.addMutableState(
            "scala.collection.Iterator", "chunks", name -> name + " = inputs[0];", true, true);
    String chunk = context.addMutableState(RowChunk.class.getName(), "chunk", _ -> "", true, true);
    String next = context.addMutableState("int", "nextRow", _ -> "", true, true);
    String row = context.freshName("row");
    // Spark returns after a row that it stored, and calls the code again for the next row.
    return """
    while (%7$s(%1$s != null || %2$s.hasNext())) {
      if (%1$s == null) {
        %1$s = (%3$s) %2$s.next();
        %4$s = 0;
      }
      while (%7$s%4$s < %1$s.rows()) {
        int %5$s = %4$s++;
        %6$s
        if (shouldStop()) return;
      }
      if (%4$s == %1$s.rows()) {
        %1$s = null;
      }
    }
    """
        .formatted(
            chunk,
            chunks,
            RowChunk.class.getName(),
            next,
            row,
            consume(context, values(context, chunk, row), null),
            limitNotReached());
  }

  /** Returns a condition for the loops: no chunk is computed beyond a LIMIT of the stage. */
  private String limitNotReached() {
    return Scala.list(limitNotReachedChecks()).stream()
        .map(check -> check + " && ")
        .collect(Collectors.joining());
  }

  private Seq<ExprCode> values(CodegenContext context, String chunk, String row) {
    List<ExprCode> values = new ArrayList<>();
    for (Attribute column : Scala.list(output())) {
      String vector = chunk + ".column(" + values.size() + ")";
      String javaType = CodeGenerator.javaType(column.dataType());
      String value = context.freshName("value");
      String got = CodeGenerator.getValueFromVector(vector, column.dataType(), row);
      String code;
      String isNull = context.freshName("isNull");
      if (column.nullable()) {
        code =
            "boolean %s = %s.isNullAt(%s);\n%s %s = %s ? %s : (%s);\n"
                .formatted(
                    isNull,
                    vector,
                    row,
                    javaType,
                    value,
                    isNull,
                    CodeGenerator.defaultValue(column.dataType(), false),
                    got);
      } else {
        code = "%s %s = %s;\n".formatted(javaType, value, got);
      }
      values.add(
          new ExprCode(
              new CodeBlock(Scala.seq(List.of(code)), Scala.seq(List.of())),
              column.nullable() ? JavaCode.isNullVariable(isNull) : FalseLiteral$.MODULE$,
              JavaCode.variable(value, column.dataType())));
    }
    return Scala.seq(values);
  }

  @Override
  public SparkPlan withNewChildInternal(SparkPlan other) {
    return new KernelOutputExec(other);
  }

  @Override
  List<Object> elements() {
    return List.of(child());
  }
}
