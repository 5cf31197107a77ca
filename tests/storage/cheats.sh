# Storage that cheats with data or gives up, one planted trick at a time: each is found
# by the sign its trick has. Those of speed are in speeds.sh.
. "$(dirname "$0")/lib.sh"
need_cheat

quick="storage.size=32M storage.pairs=0 storage.hold_s=0"

# --- data that is not there -------------------------------------------------
# Short enough to read all of it, so that not one block can be right by luck.
try holes holes "$quick"
holds holes 'value("storage_data_real") == 0' 'param("storage_data_real", "zero") == param("storage_data_real", "blocks") >= 1000' \
	'outcome("storage_read_iops") == "failed"' 'code("storage_read_iops") == "storage_not_real"'
ended holes 1
try shuffle shuffle "$quick"
holds shuffle 'value("storage_data_real") == 0' 'param("storage_data_real", "moved") == param("storage_data_real", "blocks")' \
	'outcome("storage_read_iops") == "failed"'
ended shuffle 1
# The first file it was given comes back for ever after.
try stale stale "$quick"
probe stale "$tmp/stale.dir" --set storage.size=32M --set storage.pairs=0 --set storage.hold_s=0
holds stale 'value("storage_data_real") == 0' 'param("storage_data_real", "foreign") == param("storage_data_real", "blocks")' \
	'outcome("storage_read_iops") == "failed"'
ended stale 1
# Everything is right but what it says to store: reads may or may not be real.
try sparse sparse "$quick"
holds sparse 'param("storage_data_real", "allocated_share") < 0.2' 'outcome("storage_read_iops") == "not_measured"' \
	'code("storage_read_iops") == "storage_sparse"'
ended sparse 2

# --- storage that gives up: said as such, soon, and never as a figure --------
for mode in eio,after=1500 gone,after=1500 gone,after=1500,error=2; do
	name=${mode%%,*}
	try "$name" "$mode" "$quick"
	holds "$name" 'outcome("storage_read_iops") == "failed"' 'outcome("storage_counter_ratio") != "measured"' 'len(depths()) == 0'
	case $mode in
	eio*) holds eio '"Input/output error" in why("storage_read_iops")' ;;
	*error=2) holds gone '"No such file" in why("storage_read_iops")' ;;
	gone*) holds gone '"not connected" in why("storage_read_iops")' ;;
	esac
	[ $code = 1 ] || fail "$mode: exit $code"
	cheat_off "$tmp/$name.dir"
done
for error in 28 122; do # ENOSPC, EDQUOT
	try nospace nospace,after=20000000,error=$error "$quick"
	holds nospace 'outcomes() - {"measured"} == {"not_measured"}' 'code("storage_read_iops") == "fio_no_space"'
	ended nospace 2
done
try eacces eacces "$quick"
holds eacces 'outcome("storage_read_iops") == "not_measured"' '"Permission denied" in why("storage_read_iops")'
ended eacces 2
# Direct I/O refused, at opening or at the first read: no figure of a page cache.
for mode in nodirect latedirect; do
	try $mode $mode "$quick"
	holds $mode 'value("storage_data_real") == 1' 'find("storage_direct").get("value") == "no"' \
		'outcomes() <= {"measured", "not_measured"}' 'len(depths()) == 0' 'code("storage_read_iops", 8) == "storage_buffered"' \
		'outcome("storage_read_iops_max") == "not_measured"'
	ended $mode 2
done
