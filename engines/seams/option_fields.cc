#include "seams/option_fields.h"

namespace recompact {

using leveldb::Options;

const std::map<std::string, OptionSetter>& EngineOptionFields() {
  static const auto* const fields = new std::map<std::string, OptionSetter>{
      {"adaptive_pipeline", &SetField<bool, &Options::adaptive_pipeline>},
      {"aggressive_compaction",
       &SetField<bool, &Options::aggressive_compaction>},
      {"buffer_asks_tree_filters",
       &SetField<bool, &Options::buffer_asks_tree_filters>},
      {"buffer_levels", &SetField<int, &Options::buffer_levels>},
      {"buffer_trim", &SetField<bool, &Options::buffer_trim>},
      {"compaction_input_bytes",
       &SetField<uint64_t, &Options::compaction_input_bytes>},
      {"compute_threads", &SetField<int, &Options::compute_threads>},
      {"deletions_limit_percent",
       &SetField<int, &Options::deletions_limit_percent>},
      {"dtable_balance_percent",
       &SetField<int, &Options::dtable_balance_percent>},
      {"dtable_bytes", &SetField<uint64_t, &Options::dtable_bytes>},
      {"dtable_files", &SetField<bool, &Options::dtable_files>},
      {"dtable_segments", &SetField<int, &Options::dtable_segments>},
      {"event_log_path", &SetField<std::string, &Options::event_log_path>},
      {"expand_inputs", &SetField<bool, &Options::expand_inputs>},
      {"fanout", &SetField<int, &Options::fanout>},
      {"filter_base_lg", &SetField<int, &Options::filter_base_lg>},
      {"flush_to_l0_only", &SetField<bool, &Options::flush_to_l0_only>},
      {"frozen_bytes_limit_percent",
       &SetField<int, &Options::frozen_bytes_limit_percent>},
      {"frozen_table_useless_percent",
       &SetField<int, &Options::frozen_table_useless_percent>},
      {"l0_compaction_trigger",
       &SetField<int, &Options::l0_compaction_trigger>},
      {"l0_slowdown_trigger", &SetField<int, &Options::l0_slowdown_trigger>},
      {"l0_stop_trigger", &SetField<int, &Options::l0_stop_trigger>},
      {"level_base_bytes", &SetField<uint64_t, &Options::level_base_bytes>},
      {"links_first", &SetField<bool, &Options::links_first>},
      {"min_allowed_seeks", &SetField<int, &Options::min_allowed_seeks>},
      {"num_levels", &SetField<int, &Options::num_levels>},
      {"pipeline_queue_depth", &SetField<int, &Options::pipeline_queue_depth>},
      {"pipelined_compaction", &SetField<bool, &Options::pipelined_compaction>},
      {"read_inputs_whole", &SetField<bool, &Options::read_inputs_whole>},
      {"read_threads", &SetField<int, &Options::read_threads>},
      {"seek_compaction", &SetField<bool, &Options::seek_compaction>},
      {"slice_link_adaptive", &SetField<bool, &Options::slice_link_adaptive>},
      {"slice_link_adaptive_window",
       &SetField<int, &Options::slice_link_adaptive_window>},
      {"slice_link_bytes_percent",
       &SetField<int, &Options::slice_link_bytes_percent>},
      {"slice_link_threshold", &SetField<int, &Options::slice_link_threshold>},
      {"subtask_bytes", &SetField<uint64_t, &Options::subtask_bytes>},
      {"sync_outputs_together",
       &SetField<bool, &Options::sync_outputs_together>},
      {"tables_stay_open", &SetField<bool, &Options::tables_stay_open>},
      {"track_obsolete_files", &SetField<bool, &Options::track_obsolete_files>},
      {"user_key_aligned_outputs",
       &SetField<bool, &Options::user_key_aligned_outputs>},
      {"write_pause_us", &SetField<uint64_t, &Options::write_pause_us>},
      {"write_threads", &SetField<int, &Options::write_threads>},
  };
  return *fields;
}

}  // namespace recompact
