# Storage that cheats with speed: caches, credit, an fsync that does nothing. Each is
# found by the signs its trick has, and the honest one by none.
. "$(dirname "$0")/../storage/lib.sh"
need_cheat

slow=delay_us=1000,channels=8 # 8000 reads a second and no more
# Nothing to be found on one that is slow and honest.
try honest honest,$slow "storage.size=32M storage.pairs=3 storage.pair_s=0.3 storage.hold_s=2"
holds honest 'value("storage_data_real") == 1' 'value("storage_cache_signs") == 0' 'value("storage_burst_signs") == 0' \
	'2000 < value("storage_read_iops", 8) <= 8100' 'value("storage_read_lat_mean_ms", 1) > 1' 'value("storage_lat_depth1_us") > 1000' \
	'value("storage_read_thirds", 8) > 0.7' 'outcome("storage_counter_ratio") == "not_measured"' 'why("storage_counter_ratio") != ""'
ended honest 2
# A cache for a third of the data: a second reading is faster, and a small part too.
try small small,$slow,hit_us=250,cache=18000000 "storage.size=48M storage.pairs=5 storage.pair_s=0.6 storage.hold_s=0"
holds small 'value("storage_cache_signs") >= 2' 'param("storage_cache_signs", "reread")["shows"]' \
	'param("storage_cache_signs", "working_set")["shows"]'
ended small 2
# One for all of it: only the first reading tells, which alone is no more than a warning.
# Slow enough for the little that the trial of the engines reads of it.
try reread reread,delay_us=1000,hit_us=100,channels=2 "storage.size=64M storage.pairs=3 storage.pair_s=0.4 storage.hold_s=0"
holds reread 'value("storage_cache_signs") >= 1' 'param("storage_cache_signs", "reread")["shows"]'
ended reread 2
# Credit for two seconds, more than a short run spends and less than a long one.
try burst burst,$slow,hit_us=100,free_ms=2000 "storage.size=32M storage.pairs=0 storage.hold_s=4"
holds burst 'value("storage_burst_signs") == 2' 'value("storage_read_thirds", 8) < 0.7' 'value("storage_read_cv", 8) > 0.1'
ended burst 2
# An fsync that does nothing shows in no reading of one node: it may not be taken for
# a fault of the reads either.
try writeback writeback,write_mbs=50,free_ms=60000 "storage.size=32M storage.pairs=0 storage.hold_s=0"
holds writeback 'outcome("storage_write_mbs") == "measured"' 'value("storage_data_real") == 1' 'outcome("storage_read_iops", 8) == "measured"'
ended writeback 2
