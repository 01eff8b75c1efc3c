# git arkaint <TAB>: called by git's own completion, which brings cur, prev and the __git functions used here.

__git_arkaint_verbs="@VERBS@"

# The profiles of every repository and those of this one's arkaint.toml.
__git_arkaint_profiles ()
{
	local top
	echo "strategist auditor reviewer debugger default"
	top="$(__git rev-parse --show-toplevel 2>/dev/null)" &&
	sed -n 's/^\[profile\.\([A-Za-z0-9_-]*\)\].*/\1/p' "$top/arkaint.toml" 2>/dev/null
}

# The latest runs, of which scratch keeps the logs.
__git_arkaint_runs ()
{
	local top
	top="$(__git rev-parse --show-toplevel 2>/dev/null)" &&
	ls -t "$top/.arkaint/runs" 2>/dev/null
}

# Completes the value of an option, if cur is one.
__git_arkaint_value ()
{
	local option="$prev" value="$cur"
	case "$cur" in
	--*=*)
		option="${cur%%=*}" value="${cur#*=}" ;;
	esac
	case "$option" in
	--color)
		__gitcomp "auto always never" "" "$value" ;;
	--agent)
		__gitcomp "goose claude codex opencode gemini command" "" "$value" ;;
	-p|--profile)
		__gitcomp "$(__git_arkaint_profiles)" "" "$value" ;;
	--kind)
		__gitcomp "checkpoint run decay failure trip rollback dispatch contract approval" "" "$value" ;;
	--by)
		__gitcomp "day model provider profile task agent" "" "$value" ;;
	--run)
		__gitcomp "$(__git_arkaint_runs)" "" "$value" ;;
	--rev|--base|--measure)
		__git_complete_refs --cur="$value" ;;
	-C|--install|--task-file|--tasks|--contract)
		# Nothing from here: bash then offers folders and files.
		return 0 ;;
	-m|--message|--task|--provider|--model|--branch|--repeat|-j|--jobs|-n|--max-count|--since|--mode)
		return 0 ;;
	*)
		return 1 ;;
	esac
}

__git_arkaint_verb ()
{
	local verb="$1" sub="" offer=""
	__git_arkaint_value && return
	case "$verb" in
@SUBS@
	esac
	case "$verb $sub" in
@WORDS@
	esac
	case "$verb $sub,$cur" in
	*,-*)
		__gitcomp "$offer" ;;
	"cycle ",*|"boot ",*|"packet ",*|"dispatch ",*)
		__gitcomp "$(__git_arkaint_profiles)" ;;
	"explain ",*)
		__gitcomp "$(__git_arkaint_runs)" ;;
	"completions ",*)
		__gitcomp "bash zsh fish" ;;
	"man ",*)
		__gitcomp "$__git_arkaint_verbs config ledger evidence" ;;
	"discarded show",*|"discarded diff",*|"discarded restore",*)
		__gitcomp_nl "$(__git for-each-ref --format='%(refname:lstrip=3)' refs/arkaint/discarded)" ;;
	"discarded ",*|"hooks ",*)
		__gitcomp "$offer" ;;
	esac
}

_git_arkaint ()
{
	local verb
	verb="$(__git_find_on_cmdline "$__git_arkaint_verbs")"
	if [ -n "$verb" ]; then
		__git_arkaint_verb "$verb"
		return
	fi
	__git_arkaint_value && return
	case "$cur" in
	-*)
		__gitcomp "-C @COMMON@" ;;
	*)
		__gitcomp "$__git_arkaint_verbs" ;;
	esac
}

_git_arkaint_checkpoint ()
{
	__git_arkaint_verb checkpoint
}

_git_arkaint_boot ()
{
	__git_arkaint_verb boot
}

_git_arkaint_cycle ()
{
	__git_arkaint_verb cycle
}
