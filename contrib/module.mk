# SPDX-License-Identifier: MIT
EXTRA_DIST += %D%/check %D%/doh-list %D%/lib.sh %D%/quickstart %D%/completions/bailiwick.bash
