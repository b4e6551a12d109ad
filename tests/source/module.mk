# SPDX-License-Identifier: MIT
# About the source itself: arrows, contracts, links.
dist_check_SCRIPTS += %D%/layers.sh %D%/contracts.sh
EXTRA_DIST += %D%/layers.txt
TESTS += %D%/layers.sh %D%/contracts.sh
