# SPDX-License-Identifier: MIT

# PROJECT_TRY_CFLAG(FLAG) - add FLAG to WARN_CFLAGS if the compiler takes it
AC_DEFUN([PROJECT_TRY_CFLAG], [
  AS_VAR_PUSHDEF([cache], [project_cv_cflag_$1])
  AC_CACHE_CHECK([whether $CC accepts $1], [cache], [
    project_save=$CFLAGS; CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [AS_VAR_SET([cache], [yes])],
      [AS_VAR_SET([cache], [no])])
    CFLAGS=$project_save])
  AS_VAR_IF([cache], [yes], [AS_VAR_APPEND([WARN_CFLAGS], [" $1"])])
  AS_VAR_POPDEF([cache])])

# PROJECT_WARNINGS - every warning that helps, and --enable-werror
AC_DEFUN([PROJECT_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [make every warning an error])])
  m4_foreach_w([flag], [-Wall -Wextra -Wconversion -Wshadow -Wvla -Wundef
    -Wmissing-prototypes -Wstrict-prototypes -Wswitch-enum -Wformat=2
    -Wpointer-arith -Wwrite-strings -Wcast-qual -fno-common], [PROJECT_TRY_CFLAG(flag)])
  AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
  AC_SUBST([WARN_CFLAGS])])

# PROJECT_SANITIZE - --enable-sanitize=LIST
AC_DEFUN([PROJECT_SANITIZE], [
  AC_ARG_ENABLE([sanitize], [AS_HELP_STRING([--enable-sanitize=LIST],
    [build with -fsanitize=LIST, such as address,undefined])])
  AS_CASE([$enable_sanitize], [""|no], [],
    [SAN_FLAGS="-fsanitize=$enable_sanitize -fno-sanitize-recover=all -fno-omit-frame-pointer"])
  AC_SUBST([SAN_FLAGS])])

# PROJECT_FUZZ - --enable-fuzz
AC_DEFUN([PROJECT_FUZZ], [
  AC_ARG_ENABLE([fuzz], [AS_HELP_STRING([--enable-fuzz],
    [link the fuzz targets with libFuzzer instead of replaying their corpora])])
  AS_IF([test "x$enable_fuzz" = xyes], [SAN_FLAGS="$SAN_FLAGS -fsanitize=fuzzer-no-link"])
  AM_CONDITIONAL([FUZZ], [test "x$enable_fuzz" = xyes])])
