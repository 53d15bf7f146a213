package org.recompact.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import site.ycsb.WorkloadException;

class WorkloadSpecificationTest {
  private static final String CORE =
      """
      {"id": "SCN-WH", "class": "core", "records": 1000, "operations": 500, "value_bytes": 1024,
       "read": 0, "update": 0.7, "insert": 0, "scan": 0.3, "delete": 0, "readmodifywrite": 0,
       "distribution": "uniform", "scan_length": {"distribution": "uniform", "max": 200},
       "zipf_constant": 0.99, "scrambled": true}
      """;
  private static final String ZIPF =
      CORE.replace("core", "zipf").replace("\"uniform\", \"scan", "\"zipfian\", \"scan");
  private static final String RANGE_HOT =
      CORE.replace("core", "latest")
          .replace("\"uniform\", \"scan", "\"rangehot\", \"scan")
          .replace(
              "0.99",
              "0.99, \"recent_fraction\": 0.125, \"hot_range\": {\"start\": 0.5, \"fraction\": 0.25, \"elsewhere\": 0.02}");
  private static final String LATEST =
      CORE.replace("core", "latest")
          .replace("\"uniform\", \"scan", "\"zipfian\", \"scan")
          .replace("0.99", "0.9, \"recent_fraction\": 0.125");
  private static final String QUEUE =
      """
      {"id": "QUEUE", "class": "queue", "records": 1000, "operations": 500, "value_bytes": 1024,
       "insert": 0.5, "delete": 0.5, "distribution": "oldest"}
      """;
  private static final String HOTSPOT =
      CORE.replace(
          "\"uniform\", \"scan",
          "\"hotspot\", \"hotspot\": {\"data_fraction\": 0.1, \"operation_fraction\": 1}, \"scan");

  @Test
  void coreBecomesYcsbProperties() throws WorkloadException {
    Properties properties = WorkloadSpecification.parse(CORE).properties();
    assertEquals("1000", properties.getProperty("recordcount"));
    assertEquals("500", properties.getProperty("operationcount"));
    assertEquals("1024", properties.getProperty("fieldlength"));
    assertEquals("1", properties.getProperty("fieldcount"));
    assertEquals("0.7", properties.getProperty("updateproportion"));
    assertEquals("uniform", properties.getProperty("requestdistribution"));
    assertEquals("1", properties.getProperty("minscanlength"));
    assertEquals("200", properties.getProperty("maxscanlength"));
  }

  @Test
  void zipfBecomesItsProperties() throws WorkloadException {
    String json = ZIPF.replace("0.99", "5").replace("true", "false");
    Properties properties = WorkloadSpecification.parse(json).properties();
    assertEquals("5.0", properties.getProperty(ZipfWorkload.PROPERTY_CONSTANT));
    assertEquals("false", properties.getProperty(ZipfWorkload.PROPERTY_SCRAMBLED));
    assertEquals("exact", properties.getProperty(ZipfWorkload.PROPERTY_GENERATOR));
  }

  @Test
  void latestBecomesItsProperties() throws WorkloadException {
    Properties properties = WorkloadSpecification.parse(LATEST).properties();
    assertEquals("zipfian", properties.getProperty(LatestWorkload.PROPERTY_MODEL));
    assertEquals("0.9", properties.getProperty(ZipfWorkload.PROPERTY_CONSTANT));
    assertEquals("0.125", properties.getProperty(LatestWorkload.PROPERTY_RECENT_FRACTION));
    assertEquals(null, properties.getProperty("requestdistribution"));
  }

  @Test
  void rangeHotBecomesItsProperties() throws WorkloadException {
    Properties properties = WorkloadSpecification.parse(RANGE_HOT).properties();
    assertEquals("rangehot", properties.getProperty(LatestWorkload.PROPERTY_MODEL));
    assertEquals("0.5", properties.getProperty(LatestWorkload.PROPERTY_HOT_START));
    assertEquals("0.25", properties.getProperty(LatestWorkload.PROPERTY_HOT_FRACTION));
    assertEquals("0.02", properties.getProperty(LatestWorkload.PROPERTY_ELSEWHERE));
  }

  @Test
  void queueBecomesYcsbProperties() throws WorkloadException {
    Properties properties = WorkloadSpecification.parse(QUEUE).properties();
    assertEquals("1000", properties.getProperty("recordcount"));
    assertEquals("1024", properties.getProperty("fieldlength"));
    assertEquals(null, properties.getProperty("requestdistribution"));
  }

  @Test
  void hotspotBecomesYcsbProperties() throws WorkloadException {
    Properties properties = WorkloadSpecification.parse(HOTSPOT).properties();
    assertEquals("hotspot", properties.getProperty("requestdistribution"));
    assertEquals("0.1", properties.getProperty("hotspotdatafraction"));
    assertEquals("1.0", properties.getProperty("hotspotopnfraction"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "\"update\"               | \"updaet\"           | updaet",
        "\"update\": 0.7          | \"update\": 0.6      | update",
        "\"update\": 0.7          | \"update\": \"0.7\"  | update",
        "\"update\": 0.7          | \"update\": null     | update",
        "\"read\": 0              | \"read\": -0.1       | read",
        "\"read\": 0              | \"read\": 1.1        | read",
        "\"read\": 0              | \"update\": 0        | update",
        "\"update\": 0.7, \"insert\": 0 | \"update\": 0, \"delete\": 0.7 | delete",
        "\"records\": 1000,       | ``                   | records",
        "\"records\": 1000        | \"records\": 0       | records",
        "\"records\": 1000        | \"records\": 1.5     | records",
        "\"records\": 1000        | \"records\": 3000000000 | records",
        "\"operations\": 500      | \"operations\": 0    | operations",
        "1024                     | 0                    | value_bytes",
        "\"core\"                 | \"cor\"              | class",
        "\"uniform\", \"scan      | \"unifrom\", \"scan  | distribution",
        "\"uniform\", \"scan      | \"hotspot\", \"scan  | hotspot",
        "0.99                     | 2                    | zipf_constant",
        "true                     | false                | scrambled",
        "\"uniform\", \"max\"     | \"gauss\", \"max\"   | scan_length.distribution",
        "\"max\": 200             | \"max\": 0           | scan_length.max",
        "\"max\": 200             | \"max\": 5, \"min\": 0 | scan_length.min",
        "\"max\": 200             | \"max\": 5, \"med\": 3 | scan_length.med",
        "\"scan_length\": {\"distribution\": \"uniform\", \"max\": 200}, | `` | scan_length",
        "0.99                     | 0.99, \"recent_fraction\": 0.1 | recent_fraction",
        "0.99 | 0.99, \"hot_range\": {\"start\": 0, \"fraction\": 1, \"elsewhere\": 0} | hot_range",
      })
  void aWrongKeyOfCoreIsNamed(String part, String replacement, String key) {
    assertNames(key, CORE, part, replacement);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "\"zipfian\", \"scan      | \"uniform\", \"scan  | distribution",
        "\"zipf_constant\": 0.99, | ``                   | zipf_constant",
        "0.99                     | 0                    | zipf_constant",
      })
  void aWrongKeyOfZipfIsNamed(String part, String replacement, String key) {
    assertNames(key, ZIPF, part, replacement);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "\"zipfian\", \"scan      | \"hotspot\", \"scan  | distribution",
        "\"zipf_constant\": 0.9, | ``                    | zipf_constant",
        "0.9,                     | -1,                   | zipf_constant",
        "0.125                    | 0                     | recent_fraction",
        "0.125                    | 1.5                   | recent_fraction",
        "\"zipfian\", \"scan      | \"rangehot\", \"scan | hot_range",
        "0.9, \"recent_fraction\": 0.125 | 0.9             | recent_fraction",
        "true                     | false                 | scrambled",
        "\"update\": 0.7, \"insert\": 0 | \"update\": 0, \"delete\": 0.7 | delete",
      })
  void aWrongKeyOfLatestIsNamed(String part, String replacement, String key) {
    assertNames(key, LATEST, part, replacement);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "0.25     | 0                      | hot_range.fraction",
        "0.25     | 0.6                    | hot_range.start",
        "0.5      | -0.5                   | hot_range.start",
        "0.02     | 2                      | hot_range.elsewhere",
        "\"start\" | \"begin\": 1, \"start\" | hot_range.begin",
        "rangehot | uniform                | hot_range",
        "rangehot | keyrange               | recent_fraction",
        "\"recent_fraction\": 0.125, | `` | recent_fraction",
        "\"start\": 0.5, | ``             | hot_range.start",
      })
  void aWrongKeyOfTheHotRangeIsNamed(String part, String replacement, String key) {
    assertNames(key, RANGE_HOT, part, replacement);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "\"oldest\" | \"uniform\" | distribution",
        "\"insert\": 0.5, \"delete\": 0.5 | \"insert\": 0.6, \"delete\": 0.4 | insert",
        "\"insert\": 0.5 | \"insert\": 0.5, \"read\": 0.5 | read",
        "\"delete\": 0.5 | \"read\": 0.5 | delete",
        "\"delete\": 0.5 | \"delete\": 0.5, \"zipf_constant\": 0.99 | zipf_constant",
        "\"delete\": 0.5 | \"delete\": 0.5, \"scrambled\": false | scrambled",
      })
  void aWrongKeyOfQueueIsNamed(String part, String replacement, String key) {
    assertNames(key, QUEUE, part, replacement);
  }

  @ParameterizedTest
  @CsvSource({
    "0.1, 0.0001, hotspot.data_fraction",
    "0.1, 1, hotspot.data_fraction",
    "1}, 1.1}, hotspot.operation_fraction",
    "\"hotspot\", \"uniform\", hotspot"
  })
  void aWrongKeyOfHotspotIsNamed(String part, String replacement, String key) {
    assertNames(key, HOTSPOT, part, replacement);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{", "[]", "{} {}"})
  void anotherTextIsRefused(String json) {
    assertThrows(WorkloadException.class, () -> WorkloadSpecification.parse(json));
  }

  private static void assertNames(String key, String json, String part, String replacement) {
    assertTrue(json.contains(part), "the case changes something");
    int at = json.indexOf(part);
    String wrong = json.substring(0, at) + replacement + json.substring(at + part.length());
    WorkloadException error =
        assertThrows(WorkloadException.class, () -> WorkloadSpecification.parse(wrong));
    String message = error.getMessage();
    assertTrue(message.contains("'" + key + "'") || message.contains(key + " +"), message);
  }
}
