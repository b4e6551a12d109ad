# SPDX-License-Identifier: MIT
dist_man_MANS += %D%/bailiwick-log.1
dist_man_MANS += %D%/bailiwick-policy.5
dist_man_MANS += %D%/bailiwick.1
