package org.recompact.ycsb;

/**
 * A failure that must end the trace: an output file that cannot be written, or a key or a setting
 * that a trace cannot hold. Its message names the file, key or property.
 *
 * <p>It is an {@link Error} because YCSB's client thread answers every {@link Exception} with a
 * stack trace and the exit status of success; an error passes through it to the caller.
 */
public final class TraceError extends Error {
  private static final long serialVersionUID = 1;

  TraceError(String message) {
    super(message);
  }

  TraceError(String message, Throwable cause) {
    super(message, cause);
  }
}
