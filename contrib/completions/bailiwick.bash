# SPDX-License-Identifier: MIT
# Completion for bash. The commands and options are those that the program's own help names.

_bailiwick_words() {
	"$1" "${@:2}" --help 2>/dev/null | tr -c 'A-Za-z0-9-' '\n' | grep -E '^--?[a-z]' | sort -u
}

_bailiwick() {
	local program=$1 current=$2 previous=$3

	COMPREPLY=()
	if [[ $COMP_CWORD == 1 ]]; then
		local commands
		commands=$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p')
		mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$current")
	elif [[ $previous == -p || $previous == --policy ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
	elif [[ $previous == --verdict ]]; then
		mapfile -t COMPREPLY < <(compgen -W "allow deny observe error" -- "$current")
	elif [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_bailiwick_words "$program" "${COMP_WORDS[1]}")" -- "$current")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
	fi
}

complete -o filenames -F _bailiwick bailiwick
