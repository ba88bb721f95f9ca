# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# Completion for bash: `. software/tools/litepcie_util.bash`, or install it as
# /usr/share/bash-completion/completions/litepcie_util. Commands and the names of options come from
# the program's --help, and the PCI addresses of cards from `litepcie_util list`. The values of
# --direction and --target, and the words that vfio, flash, module and firmware take, are listed in
# this file.

_litepcie_util() {
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]}
	local before=${COMP_WORDS[COMP_CWORD-1]} commands command="" i choices

	commands=$("$program" --help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z_]*\) .*/\1/p')
	for ((i = 1; i < COMP_CWORD; i++)); do
		case " ${commands//$'\n'/ } " in
		*" ${COMP_WORDS[i]} "*) command=${COMP_WORDS[i]}; break ;;
		esac
	done
	case $before in
	-d | --device)
		mapfile -t COMPREPLY < <(compgen -W "$(echo /dev/litepcie[0-9]*) sim: vfio:" -- "$word")
		return ;;
	-D | --direction)
		choices="loopback c2h h2c both"
		[ "$command" != dma_bench ] || choices="c2h h2c duplex" ;;
	--target) choices="memory0 scratch time" ;;
	--csr | read | write | verify | reboot | load) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
	vfio) choices="bind unbind status" ;;
	flash) choices="info read write verify" ;;
	module) choices="A B" ;;
	firmware) choices="info load" ;;
	bind | unbind | status | rescan)
		choices=$("$program" list 2>/dev/null | sed -n 's/^\([0-9a-f:.]*\)  .*/\1/p') ;;
	*)
		# shellcheck disable=SC2086 # an empty command must vanish
		choices=$("$program" $command --help 2>/dev/null | grep -o -- '--[a-z][a-z-]*' | sort -u)
		[ -n "$command" ] || choices="$choices $commands" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}

complete -F _litepcie_util litepcie_util
