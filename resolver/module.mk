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
	%D%/endings.c \
	%D%/failures.c %D%/failures.h \
	%D%/fetch.c %D%/fetch.h \
	%D%/frames.c %D%/frames.h \
	%D%/listen.c %D%/listen.h \
	%D%/message.c %D%/message.h \
	%D%/ourselves.c %D%/ourselves.h \
	%D%/probe.c %D%/probe.h \
	%D%/proof.c %D%/proof.h \
	%D%/query.c %D%/query.h \
	%D%/question.c %D%/question.h \
	%D%/rate.c %D%/rate.h \
	%D%/reply.c %D%/reply.h \
	%D%/resolvconf.c %D%/resolvconf.h \
	%D%/resolver.c %D%/resolver.h \
	%D%/server.c %D%/server.h \
	%D%/servers.c \
	%D%/stream.c %D%/stream.h \
	%D%/try.c %D%/try.h \
	%D%/upstream.c %D%/upstream.h \
	%D%/vet.c %D%/vet.h \
	%D%/wire.h \
	%D%/worker.h
