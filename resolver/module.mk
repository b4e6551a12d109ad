# SPDX-License-Identifier: MIT
noinst_LIBRARIES += libresolver.a
libresolver_a_SOURCES = \
	%D%/answer.c %D%/answer.h \
	%D%/budget.c %D%/budget.h \
	%D%/cache.c %D%/cache.h \
	%D%/connection.c %D%/connection.h \
	%D%/cookie.c %D%/cookie.h \
	%D%/crew.c %D%/crew.h \
	%D%/descriptors.c %D%/descriptors.h \
	%D%/ending.c %D%/ending.h \
	%D%/listen.c %D%/listen.h \
	%D%/message.c %D%/message.h \
	%D%/query.c %D%/query.h \
	%D%/question.c %D%/question.h \
	%D%/rate.c %D%/rate.h \
	%D%/reply.c %D%/reply.h \
	%D%/resolvconf.c %D%/resolvconf.h \
	%D%/resolver.c %D%/resolver.h \
	%D%/upstream.c %D%/upstream.h \
	%D%/vet.c %D%/vet.h \
	%D%/wire.h \
	%D%/worker.h
