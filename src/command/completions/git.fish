
# In git's own completion, too: what stands after `git arkaint` is completed as after `git-arkaint`. Read at the start of the shell
# (conf.d), as fish looks into the completions of git alone when git is completed.
function __fish_git_arkaint_after
    set -l words (commandline -opc)
    set -l at (contains -i -- $argv[1] $words); or return
    set -e words[1..$at]
    complete -C "$argv[2] "(string join ' ' -- (string escape -- $words) (commandline -ct | string escape -n))
end
complete -c git -n __fish_git_needs_command -a arkaint -d 'Run coding agents without trusting them'
complete -c git -f -n '__fish_git_using_command arkaint' -a '(__fish_git_arkaint_after arkaint git-arkaint)'
for verb in boot checkpoint cycle
    complete -c git-arkaint-$verb -w "git-arkaint $verb"
    complete -c git -f -n "__fish_git_using_command arkaint-$verb" -a "(__fish_git_arkaint_after arkaint-$verb 'git-arkaint $verb')"
end
