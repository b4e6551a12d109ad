# SPDX-License-Identifier: MIT
# Measurements, run by hand: a timing decides no test.
EXTRA_PROGRAMS = %D%/echo
EXTRA_DIST += %D%/lists.py %D%/resolver.py
