package dev.tidepool.expression.jvm;

import dev.tidepool.expression.jvm.LoopPlan.Loop;
import dev.tidepool.expression.jvm.LoopPlan.Routine;
import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.types.Known;
import dev.tidepool.expression.types.TypedProgram;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes the code of a loop for one element. */
final class BodyWriter {
  private final LoopPlan plan;
  private final CodeBuilder code;
  private final Elements elements;
  private final Map<Integer, Integer> uniformLocals;
  private final Map<Node, Integer> locals = new LinkedHashMap<>();
  private int nextLocal;

  /**
   * Creates a writer.
   *
   * @param elements writes the accesses to elements
   * @param uniformLocals the local variable of each uniform
   * @param nextLocal the first local variable that is free
   */
  BodyWriter(
      LoopPlan plan,
      CodeBuilder code,
      Elements elements,
      Map<Integer, Integer> uniformLocals,
      int nextLocal) {
    this.plan = plan;
    this.code = code;
    this.elements = elements;
    this.uniformLocals = uniformLocals;
    this.nextLocal = nextLocal;
  }

  /** Loads all elements before any is stored: an array may be both read and written. */
  void loadFirst(TypedProgram program) {
    for (Node node : program.nodes()) {
      if (node.op() == Op.LOAD) {
        load(node);
        locals.put(node, store(node));
      }
    }
  }

  void loop(Loop loop) {
    for (Node node : loop.nodes()) {
      if (node.isLeaf()) {
        load(node);
      } else {
        node.args().forEach(this::load);
        ElementWriter.write(code, node);
      }
      int local = store(node);
      if (!node.isLeaf()) {
        locals.put(node, local);
      }
      for (int slot : loop.results().getOrDefault(node, List.of())) {
        elements.locate(code, slot, node.type());
        code.loadLocal(JvmTypes.kind(node.type()), local);
        elements.store(code, node.type());
      }
    }
  }

  /** Stores a node's value to a local variable of its own. */
  private int store(Node node) {
    TypeKind kind = JvmTypes.kind(node.type());
    int local = nextLocal;
    nextLocal += kind.slotSize();
    code.storeLocal(kind, local);
    return local;
  }

  void routine(Routine routine) {
    Node node = routine.node();
    elements.locate(code, routine.results().getFirst(), node.type());
    for (int i = 0; i < node.args().size(); i++) {
      elements.locate(code, routine.args().get(i), node.type());
      elements.load(code, node.type());
    }
    ElementWriter.function(code, node);
    elements.store(code, node.type());
  }

  private void load(Node node) {
    Integer local = locals.get(node);
    if (local != null) {
      code.loadLocal(JvmTypes.kind(node.type()), local);
      return;
    }
    switch (node.op()) {
      case CONSTANT -> ElementWriter.constant(code, node);
      case UNIFORM ->
          code.loadLocal(JvmTypes.kind(node.type()), Known.in(uniformLocals, (int) node.payload()));
      default -> {
        elements.locate(code, plan.home(node), node.type());
        elements.load(code, node.type());
        ElementWriter.afterLoad(code, node);
      }
    }
  }
}
