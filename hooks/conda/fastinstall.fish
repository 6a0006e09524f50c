# Put here by fastinstall: when this conda environment is activated, warns if its Pillow is not the one that fastinstall
# installed. For fish, which reads this file with `source`; fastinstall.sh beside it is for other shells.
#
# It runs one program, stat, and sha256sum only if a size or a time differs. It writes only its warning, to stderr,
# leaves no variables in the shell, and never fails.
# Switch it off with FASTINSTALL_GUARD=0; remove it with: fastinstall guard remove --prefix PREFIX
# Version 1

function _fastinstall_look
    for state in $CONDA_PREFIX/lib/python3.*/site-packages/_fastinstall_guard/state
        # conda links python3.1 to the directory of a later Python 3.1x
        string match -q '*/python3.1/*' -- $state; and continue
        set -f known $state
        set -l told (_fastinstall_compare_state $state)
        if set -q told[1]
            printf '%s\n' $told
            return
        end
    end
    set -q known; or _fastinstall_compare_record
end

# Compare two files with their sizes, times and SHA-256 that setup recorded.
function _fastinstall_compare_state -a state
    set -l site (string replace '/_fastinstall_guard/state' '' -- $state)
    set -l core
    set -l text
    set -l stack
    set -l program fastinstall
    while read -l -d ' ' -a words
        switch "$words[1]"
            case program
                set program (string join ' ' -- $words[2..-1])
            case core
                set core $words
            case version
                set text $words
            case stack
                set stack $words
        end
    end <$state
    test (count $core) -eq 5 -a (count $text) -eq 4 -a (count $stack) -eq 3; or return
    set -l expected "$core[3] "(string replace -r '.{9}$' '' -- $core[4]) "$text[3] "(string replace -r '.{9}$' '' -- $text[4])
    set -l found (command stat -L -c '%s %Y' $site/$core[2] $site/$text[2] 2>/dev/null)
    test "$found" = "$expected"; and return
    set -l change (_fastinstall_look_closely $site/$core[2] $core[5] $site/$text[2] $stack[2])
    set -q change[1]; or return
    for word in (string split ' ' -- $program) # a program that is gone is named by its plain name
        string match -q '/*' -- $word; and not test -e $word; and set program fastinstall
    end
    printf '%s\n' "the fast Pillow $stack[2]" $change "$program doctor --fix"
end

# Compare the content if sizes or times differ: a copied environment has other times but is healthy.
function _fastinstall_look_closely -a core sha256 text stack
    if not test -d (string replace -r '/[^/]*$' '' -- $core)
        echo 'was removed'
        return
    end
    set -l found '?'
    if test -r $text
        while read -l -d ' ' -a words
            test "$words[1]" = __version__; and set found (string trim -c '"\'' -- "$words[3]")
        end <$text
    end
    if not test -r $core
        contains -- $found $stack '?'; and echo 'is incomplete'; or echo "was replaced with Pillow $found"
        return
    end
    set -l digest (command sha256sum <$core 2>/dev/null)
    set -q digest[1]; or return
    if test (string sub -l 64 -- $digest[1]) = $sha256
        test $found = $stack; or echo "is mixed with files of Pillow $found"
    else if test $found = $stack
        echo 'was replaced with another build'
    else
        echo "was replaced with Pillow $found"
    end
end

# If conda installed stack and guard without fastinstall, check the stack's record and its INSTALLER file.
function _fastinstall_compare_record
    set -l guards $CONDA_PREFIX/conda-meta/fastinstall-guard-*.json
    set -q guards[1]; or return
    set -l name 'the Pillow with SIMD kernels'
    set -l records $CONDA_PREFIX/conda-meta/pillow-*-simd_*.json
    if not set -q records[1]
        printf '%s\n' $name 'is no longer what conda has on record' 'fastinstall doctor'
        return
    end
    for file in $CONDA_PREFIX/lib/python3.*/site-packages/{p,P}illow*.dist-info/INSTALLER
        string match -q '*/python3.1/*' -- $file; and continue
        read -l installer <$file
        contains -- "$installer" conda fastinstall ''; and continue
        printf '%s\n' $name "was replaced by $installer" 'fastinstall doctor'
        return
    end
end

if test "$FASTINSTALL_GUARD" != 0 -a -n "$CONDA_PREFIX"; and command -q stat; and command -q sha256sum
    set -l told (_fastinstall_look 2>/dev/null)
    if set -q told[3]
        printf '%s\n' "fastinstall: $told[1] in $CONDA_PREFIX $told[2]" \
            "hint: $told[3] --prefix "(string escape -- $CONDA_PREFIX) >&2
    end
end
functions -e _fastinstall_look _fastinstall_compare_state _fastinstall_look_closely _fastinstall_compare_record
