# The performance bars; figures are printed, not asserted.
exec python3 "$(dirname "$0")/bars.py"
