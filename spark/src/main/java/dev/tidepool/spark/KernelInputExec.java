package dev.tidepool.spark;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.execution.CodegenSupport;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Stores rows in the columns of {@link RowChunk}s, for the kernel above it.
 *
 * <p>It takes part in the code that Spark generates for a stage: the expressions that compute
 * values store them directly in columns. Passing a row in Spark's usual way would cost more than a
 * kernel of a hundred operations. Public because Spark copies it by reflection.
 */
public final class KernelInputExec extends GeneratedPlan {
  private static final long serialVersionUID = 1L;

  private final StructType resultSchema;
  private transient String chunk = "";

  /** Called by Spark through reflection. */
  public KernelInputExec(StructType resultSchema, SparkPlan child) {
    super(child);
    this.resultSchema = resultSchema;
  }

  private ChunkShape shape() {
    return new ChunkShape(Scala.schema(child().output()), resultSchema);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child().execute().mapPartitions(new RowChunks(shape()), false, ROW);
  }

  @Override
  public Seq<RDD<InternalRow>> inputRDDs() {
    return ((CodegenSupport) child()).inputRDDs();
  }

  @Override
  public String doProduce(CodegenContext context) {
    chunk = context.addMutableState(RowChunk.class.getName(), "chunk", _ -> "", true, true);
    // The generated code of the child returns after it appended a chunk, and at the end.
    String fill = context.freshName("fillChunk");
    String body = ((CodegenSupport) child()).produce(context, this);
    String called =
        context.addNewFunction(
            fill,
            "private void " + fill + "() throws java.io.IOException {\n" + body + "\n}",
            false);
    return """
    %1$s();
    if (%2$s != null && %2$s.endsPartlyFilled()) {
      append(%2$s);
    }
    """
        .formatted(called, chunk);
  }

  @Override
  public String doConsume(CodegenContext context, Seq<ExprCode> input, ExprCode row) {
    String opener = context.addReferenceObj("shape", shape(), ChunkShape.class.getName());
    return """
    if (%1$s == null) {
      %1$s = %2$s.open();
    }
    %3$s
    if (%1$s.addRow()) {
      append(%1$s);
    }
    """
        .formatted(chunk, opener, appended(input, row));
  }

  private String appended(Seq<ExprCode> input, ExprCode row) {
    List<Attribute> columns = Scala.list(child().output());
    List<ExprCode> values = Scala.list(input);
    if (!columns.stream().allMatch(column -> CodeGenerator.isPrimitiveType(column.dataType()))) {
      return row.code() + "\n" + chunk + ".append(" + row.value() + ");";
    }
    StringBuilder code = new StringBuilder();
    for (int i = 0; i < values.size(); i++) {
      String column = chunk + ".column(" + i + ")";
      String type = CodeGenerator.primitiveTypeName(columns.get(i).dataType());
      ExprCode value = values.get(i);
      code.append(
          "if (%s) { %s.appendNull(); } else { %s.append%s(%s); }\n"
              .formatted(value.isNull(), column, column, type, value.value()));
    }
    return code.toString();
  }

  @Override
  public AttributeSet usedInputs() {
    return AttributeSet$.MODULE$.apply(Scala.<Expression>seq(Scala.list(child().output())));
  }

  @Override
  public SparkPlan withNewChildInternal(SparkPlan other) {
    return new KernelInputExec(resultSchema, other);
  }

  @Override
  List<Object> elements() {
    return List.of(resultSchema, child());
  }

  /** Returns the name alone, because the kernel above shows its results. */
  @Override
  public String simpleString(int maxFields) {
    return nodeName();
  }
}
