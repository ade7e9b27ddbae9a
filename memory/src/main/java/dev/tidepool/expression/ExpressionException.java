package dev.tidepool.expression;

import dev.tidepool.KernelCompilationException;

/**
 * A source that the elementwise language refuses. The message ends with the line in question and a
 * caret under the place.
 */
public final class ExpressionException extends KernelCompilationException {
  private static final long serialVersionUID = 1L;

  private final int line;
  private final int column;

  private ExpressionException(String message, int line, int column) {
    super(message, "");
    this.line = line;
    this.column = column;
  }

  /** A refusal of {@code source} at {@code position}, an index of its characters. */
  static ExpressionException at(String source, int position, String problem) {
    int start = source.lastIndexOf('\n', position - 1) + 1;
    int end = source.indexOf('\n', position);
    String text = source.substring(start, end < 0 ? source.length() : end).stripTrailing();
    int line = 1 + (int) source.substring(0, start).chars().filter(c -> c == '\n').count();
    int column = position - start + 1;
    // Tabs stay tabs, so that the caret stands under its character whatever a tab's width is.
    String indent = source.substring(start, position).replaceAll("[^\t]", " ");
    String where = source.indexOf('\n') < 0 ? "" : " of line " + line;
    return new ExpressionException(
        problem + " at column " + column + where + "\n  " + text + "\n  " + indent + "^",
        line,
        column);
  }

  /** The line in question, from 1. */
  public int line() {
    return line;
  }

  /** The column in question, in characters from 1. */
  public int column() {
    return column;
  }
}
