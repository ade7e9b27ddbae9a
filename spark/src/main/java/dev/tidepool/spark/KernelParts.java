package dev.tidepool.spark;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import scala.collection.immutable.Seq;

/**
 * What the node of a kernel consists of, in Spark's logical plans and in its physical ones. Spark
 * takes nodes apart by the numbers of their elements.
 *
 * @param kernel what is computed
 * @param inputs the columns behind the kernel's inputs, in their order
 * @param results the columns of the kernel's results, in their order
 * @param child where rows come from
 */
record KernelParts<P>(TypedKernel kernel, Seq<Attribute> inputs, Seq<Attribute> results, P child)
    implements Serializable {
  /** The number of elements. */
  static final int COUNT = 4;

  Object element(int index) {
    return switch (index) {
      case 0 -> kernel;
      case 1 -> inputs;
      case 2 -> results;
      case 3 -> child;
      default -> throw new IndexOutOfBoundsException(index);
    };
  }

  <Q> KernelParts<Q> withChild(Q other) {
    return new KernelParts<>(kernel, inputs, results, other);
  }
}
