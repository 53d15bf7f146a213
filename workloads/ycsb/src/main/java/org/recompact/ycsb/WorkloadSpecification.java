package org.recompact.ycsb;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import site.ycsb.Client;
import site.ycsb.Workload;
import site.ycsb.WorkloadException;
import site.ycsb.generator.ZipfianGenerator;
import site.ycsb.workloads.CoreWorkload;

/**
 * A workload as {@code workloads.yaml} declares it, read from JSON and told to YCSB as properties.
 * README.md explains each key.
 *
 * @param workloadClass {@code core} for YCSB's {@link CoreWorkload}, {@code zipf} for {@link
 *     ZipfWorkload}, {@code latest} for {@link LatestWorkload}, {@code queue} for {@link
 *     QueueWorkload}
 * @param records number of records of the load
 * @param operations number of operations of the run; a read-modify-write is one operation and
 *     leaves two records in the trace
 * @param valueBytes bytes of a value
 * @param read proportion of operations, from 0 to 1, as are the five that follow; they add up to 1
 * @param distribution of the keys
 * @param scanLength needed if there are scans
 * @param hotspot needed by the distribution {@code hotspot}
 * @param zipfConstant needed by class {@code zipf} and by distribution {@code zipfian} of class
 *     {@code latest}
 * @param scrambled whether hot ranks are spread over the key space; by default they are
 * @param recentFraction how many of the last updates the reads of class {@code latest} go back to,
 *     as a share of the records; needed but by the distribution {@code keyrange}
 * @param hotRange needed by the distributions {@code rangehot} and {@code keyrange} of class {@code
 *     latest}
 */
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
record WorkloadSpecification(
    @JsonProperty(required = true) String id,
    @JsonProperty(value = "class", required = true) String workloadClass,
    @JsonProperty(required = true) int records,
    @JsonProperty(required = true) int operations,
    @JsonProperty(required = true) int valueBytes,
    double read,
    double update,
    double insert,
    double scan,
    double delete,
    @JsonProperty("readmodifywrite") double readModifyWrite,
    @JsonProperty(required = true) String distribution,
    ScanLength scanLength,
    Hotspot hotspot,
    Double zipfConstant,
    Boolean scrambled,
    Double recentFraction,
    HotRange hotRange) {

  WorkloadSpecification {
    scrambled = scrambled == null || scrambled;
  }

  /** Records per scan: {@code uniform} or {@code zipfian} from min (by default 1) to max. */
  record ScanLength(
      @JsonProperty(required = true) String distribution,
      Integer min,
      @JsonProperty(required = true) int max) {

    ScanLength {
      min = min == null ? 1 : min;
    }

    private void check() throws WorkloadException {
      requireOneOf("scan_length.distribution", distribution, SCAN_DISTRIBUTIONS);
      require(min >= 1, "scan_length.min", "must be at least 1, is " + min);
      require(max >= min, "scan_length.max", "must be at least " + min + ", is " + max);
    }
  }

  /** The first {@code dataFraction} of the keys get {@code operationFraction} of the operations. */
  @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
  record Hotspot(
      @JsonProperty(required = true) double dataFraction,
      @JsonProperty(required = true) double operationFraction) {

    private void check(int records) throws WorkloadException {
      require(
          dataFraction * records >= 1 && dataFraction < 1,
          "hotspot.data_fraction",
          "must give hot and cold at least one record, is " + dataFraction);
      requireFraction("hotspot.operation_fraction", operationFraction);
    }
  }

  /**
   * The keys from the share {@code start} of the key space on, a {@code fraction} of all, get the
   * reads but for the proportion {@code elsewhere}.
   */
  record HotRange(
      @JsonProperty(required = true) double start,
      @JsonProperty(required = true) double fraction,
      @JsonProperty(required = true) double elsewhere) {
    private void check() throws WorkloadException {
      requireFraction("hot_range.start", start);
      requireShare("hot_range.fraction", fraction);
      require(
          start + fraction <= 1,
          "hot_range.start",
          "must leave room for hot_range.fraction, is " + start);
      requireFraction("hot_range.elsewhere", elsewhere);
    }
  }

  private static final List<String> CLASSES = List.of("core", "zipf", "latest", "queue");
  private static final List<String> CLASSES_WITH_DELETES = List.of("zipf", "queue");
  private static final List<String> CORE_DISTRIBUTIONS =
      List.of("uniform", "zipfian", "latest", "hotspot", "sequential", "exponential");
  private static final Map<String, String> ZIPF_GENERATORS =
      new TreeMap<>(Map.of("zipfian", "exact", "ycsb_zipfian", "ycsb"));
  private static final List<String> LATEST_MODELS =
      List.of("uniform", "zipfian", "rangehot", "keyrange");
  private static final List<String> RANGE_MODELS = List.of("rangehot", "keyrange");
  private static final List<String> QUEUE_DELETES = List.of("oldest");
  private static final List<String> SCAN_DISTRIBUTIONS = List.of("uniform", "zipfian");
  private static final double PROPORTION_TOLERANCE = 1e-9;

  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .build();

  /**
   * Reads and checks a specification.
   *
   * @throws WorkloadException if the text is no JSON, or a key is unknown, missing or wrong; the
   *     message names the key
   */
  static WorkloadSpecification parse(String json) throws WorkloadException {
    try {
      WorkloadSpecification specification = JSON.readValue(json, WorkloadSpecification.class);
      specification.check();
      return specification;
    } catch (UnrecognizedPropertyException e) {
      throw wrong(keyOf(e), "is unknown; known keys are " + e.getKnownPropertyIds());
    } catch (JsonMappingException e) {
      throw wrong(keyOf(e), e.getOriginalMessage());
    } catch (JsonProcessingException e) {
      throw new WorkloadException("no valid JSON: " + e.getMessage());
    }
  }

  /** Makes the YCSB workload, to be initialised with {@link #properties}. */
  Workload newWorkload() {
    return switch (workloadClass) {
      case "zipf" -> new ZipfWorkload();
      case "latest" -> new LatestWorkload();
      case "queue" -> new QueueWorkload();
      default -> new CoreWorkload();
    };
  }

  /** Returns what the workload's {@code init} wants to know. */
  Properties properties() {
    Properties properties = new Properties();
    // A key string holds its key number, and a value is one field.
    set(properties, CoreWorkload.INSERT_ORDER_PROPERTY, "ordered");
    set(properties, CoreWorkload.FIELD_COUNT_PROPERTY, 1);
    set(properties, CoreWorkload.FIELD_LENGTH_PROPERTY, valueBytes);
    set(properties, CoreWorkload.WRITE_ALL_FIELDS_PROPERTY, true);
    set(properties, Client.RECORD_COUNT_PROPERTY, records);
    set(properties, Client.OPERATION_COUNT_PROPERTY, operations);
    set(properties, CoreWorkload.READ_PROPORTION_PROPERTY, read);
    set(properties, CoreWorkload.UPDATE_PROPORTION_PROPERTY, update);
    set(properties, CoreWorkload.INSERT_PROPORTION_PROPERTY, insert);
    set(properties, CoreWorkload.SCAN_PROPORTION_PROPERTY, scan);
    set(properties, CoreWorkload.READMODIFYWRITE_PROPORTION_PROPERTY, readModifyWrite);
    if (scanLength != null) {
      set(properties, CoreWorkload.SCAN_LENGTH_DISTRIBUTION_PROPERTY, scanLength.distribution());
      set(properties, CoreWorkload.MIN_SCAN_LENGTH_PROPERTY, scanLength.min());
      set(properties, CoreWorkload.MAX_SCAN_LENGTH_PROPERTY, scanLength.max());
    }
    switch (workloadClass) {
      case "zipf" -> {
        set(properties, ZipfWorkload.PROPERTY_CONSTANT, zipfConstant);
        set(properties, ZipfWorkload.PROPERTY_GENERATOR, ZIPF_GENERATORS.get(distribution));
        set(properties, ZipfWorkload.PROPERTY_SCRAMBLED, scrambled);
        set(properties, ZipfWorkload.PROPERTY_DELETE_PROPORTION, delete);
      }
      case "latest" -> setLatest(properties);
      case "queue" -> {}
      default -> set(properties, CoreWorkload.REQUEST_DISTRIBUTION_PROPERTY, distribution);
    }
    if (hotspot != null) {
      set(properties, CoreWorkload.HOTSPOT_DATA_FRACTION, hotspot.dataFraction());
      set(properties, CoreWorkload.HOTSPOT_OPN_FRACTION, hotspot.operationFraction());
    }
    return properties;
  }

  private void setLatest(Properties properties) {
    set(properties, LatestWorkload.PROPERTY_MODEL, distribution);
    if (recentFraction != null) {
      set(properties, LatestWorkload.PROPERTY_RECENT_FRACTION, recentFraction);
    }
    if (zipfConstant != null) {
      set(properties, ZipfWorkload.PROPERTY_CONSTANT, zipfConstant);
    }
    if (hotRange != null) {
      set(properties, LatestWorkload.PROPERTY_HOT_START, hotRange.start());
      set(properties, LatestWorkload.PROPERTY_HOT_FRACTION, hotRange.fraction());
      set(properties, LatestWorkload.PROPERTY_ELSEWHERE, hotRange.elsewhere());
    }
  }

  private void check() throws WorkloadException {
    requireOneOf("class", workloadClass, CLASSES);
    require(records >= 1, "records", "must be at least 1, is " + records);
    // YCSB takes 0 operations for endlessly many.
    require(operations >= 1, "operations", "must be at least 1, is " + operations);
    require(valueBytes >= 1, "value_bytes", "must be at least 1, is " + valueBytes);
    checkProportions();
    switch (workloadClass) {
      case "zipf" -> {
        requireOneOf("distribution", distribution, ZIPF_GENERATORS.keySet());
        checkZipfConstant("is needed by class zipf");
      }
      case "latest" -> checkLatest();
      case "queue" -> checkQueue();
      default -> {
        requireOneOf("distribution", distribution, CORE_DISTRIBUTIONS);
        require(
            zipfConstant == null || zipfConstant == ZipfianGenerator.ZIPFIAN_CONSTANT,
            "zipf_constant",
            "must be " + ZipfianGenerator.ZIPFIAN_CONSTANT + " or left out in class core");
      }
    }
    boolean isLatest = workloadClass.equals("latest");
    boolean isRange = isLatest && RANGE_MODELS.contains(distribution);
    require(
        scrambled || workloadClass.equals("zipf"),
        "scrambled",
        "must be true or left out but in class zipf");
    require(
        (recentFraction != null) == (isLatest && !distribution.equals("keyrange")),
        "recent_fraction",
        "goes with class latest but for the distribution keyrange, and only with it");
    require(
        (hotRange != null) == isRange,
        "hot_range",
        "goes with the distributions rangehot and keyrange of class latest, and only with them");
    require(scan == 0 || scanLength != null, "scan_length", "is needed by scans");
    if (scanLength != null) {
      scanLength.check();
    }
    require(
        distribution.equals("hotspot") == (hotspot != null),
        "hotspot",
        "goes with the distribution hotspot, which is nothing without it");
    if (hotspot != null) {
      hotspot.check(records);
    }
  }

  private void checkLatest() throws WorkloadException {
    requireOneOf("distribution", distribution, LATEST_MODELS);
    if (distribution.equals("zipfian")) {
      checkZipfConstant("is needed by the distribution zipfian");
    }
    if (recentFraction != null) {
      requireShare("recent_fraction", recentFraction);
    }
    if (hotRange != null) {
      hotRange.check();
    }
  }

  private void checkQueue() throws WorkloadException {
    requireOneOf("distribution", distribution, QUEUE_DELETES);
    require(insert == 0.5, "insert", "must be 0.5 in class queue, by turns with deletes");
    require(delete == 0.5, "delete", "must be 0.5 in class queue, by turns with inserts");
    require(zipfConstant == null, "zipf_constant", "must be left out in class queue");
  }

  private void checkZipfConstant(String need) throws WorkloadException {
    require(zipfConstant != null, "zipf_constant", need);
    require(zipfConstant > 0, "zipf_constant", "must be positive, is " + zipfConstant);
  }

  private void checkProportions() throws WorkloadException {
    Map<String, Double> proportions = new LinkedHashMap<>();
    proportions.put("read", read);
    proportions.put("update", update);
    proportions.put("insert", insert);
    proportions.put("scan", scan);
    proportions.put("delete", delete);
    proportions.put("readmodifywrite", readModifyWrite);
    for (Map.Entry<String, Double> proportion : proportions.entrySet()) {
      requireFraction(proportion.getKey(), proportion.getValue());
    }
    double sum = proportions.values().stream().mapToDouble(Double::doubleValue).sum();
    require(
        Math.abs(sum - 1) <= PROPORTION_TOLERANCE,
        String.join(" + ", proportions.keySet()),
        "must be 1, is " + sum);
    require(
        delete == 0 || CLASSES_WITH_DELETES.contains(workloadClass),
        "delete",
        "must be 0 but in classes " + CLASSES_WITH_DELETES + ": YCSB's core has no deletes");
  }

  private static void requireShare(String key, double value) throws WorkloadException {
    require(value > 0 && value <= 1, key, "must be above 0 and at most 1, is " + value);
  }

  private static void requireFraction(String key, double value) throws WorkloadException {
    require(value >= 0 && value <= 1, key, "must be from 0 to 1, is " + value);
  }

  private static void requireOneOf(String key, String value, Collection<String> values)
      throws WorkloadException {
    require(values.contains(value), key, "must be one of " + values + ", is '" + value + "'");
  }

  private static void require(boolean condition, String key, String problem)
      throws WorkloadException {
    if (!condition) {
      throw wrong(key, problem);
    }
  }

  private static WorkloadException wrong(String key, String problem) {
    return new WorkloadException("key '" + key + "': " + problem);
  }

  private static String keyOf(JsonMappingException e) {
    return e.getPath().stream()
        .map(JsonMappingException.Reference::getFieldName)
        .collect(Collectors.joining("."));
  }

  private static void set(Properties properties, String property, Object value) {
    properties.setProperty(property, String.valueOf(value));
  }
}
