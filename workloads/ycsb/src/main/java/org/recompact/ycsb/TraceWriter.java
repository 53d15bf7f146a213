package org.recompact.ycsb;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import site.ycsb.ClientThread;
import site.ycsb.Workload;
import site.ycsb.WorkloadException;
import site.ycsb.measurements.Measurements;

/**
 * The command line: writes the load or the run phase of one workload as a trace.
 *
 * <p>It gives a {@link TraceClient} to YCSB's own {@link ClientThread} and workload, in the main
 * thread. Exit status: 0 for a complete trace, 1 for a failure with a message that names the file,
 * 2 for a wrong command line.
 */
@Command(
    name = "recompact-ycsb",
    description = "Writes one phase of a YCSB workload as a trace.",
    sortOptions = false)
public final class TraceWriter implements Callable<Integer> {
  enum Phase {
    LOAD,
    RUN
  }

  private static final int SUCCESS = 0;
  private static final int FAILURE = 1;

  @Option(names = "--spec", required = true, description = "the workload, a JSON file")
  private Path specificationFile;

  @Option(
      names = "--phase",
      required = true,
      description = "load (insert all records) or run (do the operations)")
  private Phase phase;

  @Option(names = "--seed", required = true, description = "seed, from 0 to 2^64 - 1")
  private Long seed;

  @Option(names = "--out", required = true, description = "the trace to write")
  private Path out;

  private TraceWriter() {}

  /** Runs the command line and exits with its status. */
  public static void main(String[] arguments) {
    System.exit(execute(arguments));
  }

  /** Runs the command line and returns its exit status. */
  static int execute(String... arguments) {
    return new CommandLine(new TraceWriter())
        .setCaseInsensitiveEnumValuesAllowed(true)
        .registerConverter(Long.class, Long::parseUnsignedLong)
        .execute(arguments);
  }

  @Override
  public Integer call() {
    try {
      write();
      return SUCCESS;
    } catch (WorkloadException e) {
      System.err.println(specificationFile + ": " + e.getMessage());
    } catch (TraceError | IOException e) {
      System.err.println(e.getMessage());
    }
    return FAILURE;
  }

  private void write() throws WorkloadException, IOException {
    String text = specificationText();
    WorkloadSpecification specification = WorkloadSpecification.parse(text);
    Properties properties = specification.properties();
    properties.setProperty(TraceClient.PROPERTY_FILE, out.toString());
    properties.setProperty(TraceClient.PROPERTY_SEED, Long.toUnsignedString(seed));
    properties.setProperty(TraceClient.PROPERTY_SPECIFICATION, text);

    Measurements.setProperties(properties); // YCSB's workloads want it before they are made
    Workload workload = specification.newWorkload();
    workload.init(properties);
    TraceClient client = new TraceClient();
    client.setProperties(properties);
    int operations = phase == Phase.LOAD ? specification.records() : specification.operations();
    ClientThread thread =
        new ClientThread(
            client, phase == Phase.RUN, workload, properties, operations, 0, new CountDownLatch(1));

    // An interrupt ends the process here, and so does ClientThread, with the status of success,
    // when the workload throws an exception.
    Thread abandon =
        new Thread(
            () -> {
              TraceFile.temporaryOf(out).toFile().delete();
              Runtime.getRuntime().halt(FAILURE);
            });
    Runtime.getRuntime().addShutdownHook(abandon);
    long start = System.nanoTime();
    try {
      thread.run();
    } finally {
      client.discard();
      Runtime.getRuntime().removeShutdownHook(abandon);
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    System.err.printf(
        "%s: %d operations in %.2f s, %.0f operations/s%n",
        out, operations, seconds, operations / seconds);
  }

  /** Reads the specification as it stands, because the trace's header keeps its hash. */
  private String specificationText() throws IOException {
    // FileInputStream, because its exceptions give the system's reason.
    try (FileInputStream input = new FileInputStream(specificationFile.toFile())) {
      return new String(input.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
