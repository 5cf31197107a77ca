# Messages past a rank that dies, stops or is cut off: every end under both MPIs.
ASSAY_FULL=yes exec bash "$(dirname "$0")/../cluster/comm.sh"
