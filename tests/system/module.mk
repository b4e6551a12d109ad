# SPDX-License-Identifier: MIT
# The program as people run it. Each script prints TAP, and needs no privileges unless it says so.
SYSTEM = %D%/log.sh
dist_check_SCRIPTS += $(SYSTEM)
TESTS += $(SYSTEM)
