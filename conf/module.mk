# SPDX-License-Identifier: MIT
# The example policies, which are also inputs of tests.
examplesdir = $(docdir)/examples
dist_examples_DATA = \
	%D%/doh.list \
	%D%/example.ini \
	%D%/example-deny.ini \
	%D%/example.list \
	%D%/quickstart.ini
