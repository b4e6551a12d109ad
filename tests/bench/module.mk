# SPDX-License-Identifier: MIT
# Measurements, run by hand: a timing decides no test.
EXTRA_DIST += %D%/answers.py
