package dev.tidepool.expression.syntax;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.spi.support.VisibleText;

/**
 * Thrown if the elementwise language refuses a source. The message ends with the line and a caret
 * under the position.
 */
public final class ExpressionException extends KernelCompilationException {
  private static final long serialVersionUID = 1L;

  /** The most characters of a line, or of another text, that are shown in full. */
  private static final int LONGEST = 180;

  /** The characters of a longer line that are shown on each side of the position. */
  private static final int SHOWN = 60;

  private static final String ELLIPSIS = "\u2026";

  private final String source;
  private final int position;
  private final String problem;
  private final int line;
  private final int column;

  private ExpressionException(
      String message, String source, int position, String problem, int line, int column) {
    super(message, "");
    this.source = source;
    this.position = position;
    this.problem = problem;
    this.line = line;
    this.column = column;
  }

  /** Returns an exception about {@code source} at {@code position}, an index of its characters. */
  public static ExpressionException at(String source, int position, String problem) {
    int start = source.lastIndexOf('\n', position - 1) + 1;
    int end = source.indexOf('\n', position);
    if (end < 0) {
      end = source.length();
    }
    int line = 1 + (int) source.substring(0, start).chars().filter(c -> c == '\n').count();
    int column = position - start + 1;
    boolean isLong = end - start > LONGEST;
    int from = isLong ? Math.max(start, position - SHOWN + 1) : start;
    int to = isLong ? Math.min(end, position + SHOWN) : end;
    String before =
        (from > start ? ELLIPSIS : "") + VisibleText.withTabs(source.substring(from, position));
    String after = source.substring(position, to);
    String text =
        before + VisibleText.withTabs(to < end ? after + ELLIPSIS : after.stripTrailing());
    // Tabs stay tabs, so that the caret is under its character whatever the width of a tab.
    String indent = before.replaceAll("[^\t]", " ");
    String where = source.indexOf('\n') < 0 ? "" : " of line " + line;
    return new ExpressionException(
        placed(problem, " at column " + column + where) + "\n  " + text + "\n  " + indent + "^",
        source,
        position,
        problem,
        line,
        column);
  }

  /** Inserts the place before the advice, which follows the first semicolon. */
  private static String placed(String problem, String place) {
    int advice = problem.indexOf("; ");
    int end = advice < 0 ? problem.length() : advice;
    return problem.substring(0, end) + place + problem.substring(end);
  }

  /**
   * Returns the exception with an excerpt of another source, in which the position is the same,
   * such as the one that still has its reductions.
   */
  public ExpressionException in(String other) {
    return copied(other, problem);
  }

  /** Returns the exception with another problem at the same place. */
  public ExpressionException saying(String otherProblem) {
    return copied(source, otherProblem);
  }

  private ExpressionException copied(String otherSource, String otherProblem) {
    ExpressionException shown = at(otherSource, position, otherProblem);
    shown.setStackTrace(getStackTrace());
    for (Throwable each : getSuppressed()) {
      shown.addSuppressed(each);
    }
    return shown;
  }

  /** Returns what is wrong, in one line, with the column that it has in another text. */
  public String problemAt(int otherColumn) {
    return placed(problem, " at column " + otherColumn);
  }

  /** Returns whether a character is at the place. */
  public boolean isAt(char character) {
    return position < source.length() && source.charAt(position) == character;
  }

  /** Returns the source that was refused. */
  public String source() {
    return source;
  }

  /** Returns a text for a message, shortened if it is long. */
  public static String shortened(String text) {
    return text.length() > LONGEST ? text.substring(0, LONGEST) + ELLIPSIS : text;
  }

  /** Returns the line of the error, from 1. */
  public int line() {
    return line;
  }

  /** Returns the column of the error, in characters from 1. */
  public int column() {
    return column;
  }
}
