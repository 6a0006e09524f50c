# Put here by fastinstall: when this conda environment is activated, warns if its Pillow is not the one that fastinstall
# installed. For bash, zsh, dash, ksh and other POSIX shells, which read this file with `.`.
#
# It runs one program, stat, and sha256sum only if a size or a time differs. It writes only its warning, to stderr,
# leaves no variables in the shell, and never fails.
# Switch it off with FASTINSTALL_GUARD=0; remove it with: fastinstall guard remove --prefix PREFIX
# Version 1

_fastinstall_look() {
    [ -z "${ZSH_VERSION-}" ] || emulate -L sh
    _fastinstall_change=''
    _fastinstall_state=''
    for _fastinstall_file in "$CONDA_PREFIX"/lib/python3.*/site-packages/_fastinstall_guard/state; do
        # conda links python3.1 to the directory of a later Python 3.1x
        case $_fastinstall_file in */python3.1/*) continue ;; esac
        [ -r "$_fastinstall_file" ] || continue
        _fastinstall_state=$_fastinstall_file
        _fastinstall_compare_state
        [ -z "$_fastinstall_change" ] || return 0
    done
    [ -n "$_fastinstall_state" ] || _fastinstall_compare_record
}

# Compare two files with their sizes, times and SHA-256 that setup recorded.
_fastinstall_compare_state() {
    _fastinstall_site=${_fastinstall_state%/_fastinstall_guard/state}
    _fastinstall_core='' _fastinstall_text='' _fastinstall_stack='' _fastinstall_kind=''
    _fastinstall_program=fastinstall
    while IFS=' ' read -r _fastinstall_key _fastinstall_a _fastinstall_b _fastinstall_c _fastinstall_d; do
        case $_fastinstall_key in
            program)
                _fastinstall_program=$_fastinstall_a${_fastinstall_b:+ $_fastinstall_b}${_fastinstall_c:+ $_fastinstall_c}
                _fastinstall_program=$_fastinstall_program${_fastinstall_d:+ $_fastinstall_d} ;;
            core) _fastinstall_core=$_fastinstall_site/$_fastinstall_a _fastinstall_sha256=$_fastinstall_d
                _fastinstall_expected="$_fastinstall_b ${_fastinstall_c%?????????}" ;;
            version) _fastinstall_text=$_fastinstall_site/$_fastinstall_a
                _fastinstall_expected="$_fastinstall_expected/$_fastinstall_b ${_fastinstall_c%?????????}" ;;
            stack) _fastinstall_stack=$_fastinstall_a _fastinstall_kind=$_fastinstall_b ;;
        esac
    done <"$_fastinstall_state"
    [ -n "$_fastinstall_core" ] && [ -n "$_fastinstall_text" ] && [ -n "$_fastinstall_kind" ] || return 0
    for _fastinstall_a in $_fastinstall_program; do # if the program no longer exists, print plain `fastinstall`
        case $_fastinstall_a in /*) [ -e "$_fastinstall_a" ] || _fastinstall_program=fastinstall ;; esac
    done
    _fastinstall_name="the fast Pillow $_fastinstall_stack"
    _fastinstall_repair='doctor --fix'
    _fastinstall_found=$(command stat -L -c '%s %Y' "$_fastinstall_core" "$_fastinstall_text" 2>/dev/null) || :
    case $_fastinstall_found in
        "${_fastinstall_expected%/*}
${_fastinstall_expected#*/}") ;;
        *) _fastinstall_look_closely ;;
    esac
}

# Compare the content if sizes or times differ: a copied environment has other times but is healthy.
_fastinstall_look_closely() {
    [ -d "${_fastinstall_core%/*}" ] || { _fastinstall_change='was removed'; return 0; }
    _fastinstall_version='?'
    if [ -r "$_fastinstall_text" ]; then
        while IFS=' ' read -r _fastinstall_key _fastinstall_a _fastinstall_b || [ -n "$_fastinstall_key" ]; do
            [ "$_fastinstall_key" != __version__ ] || _fastinstall_version=$_fastinstall_b
        done <"$_fastinstall_text"
        _fastinstall_version=${_fastinstall_version#[\"\']}
        _fastinstall_version=${_fastinstall_version%[\"\']}
    fi
    _fastinstall_found=other
    if [ ! -r "$_fastinstall_core" ]; then
        _fastinstall_change='is incomplete'
        case $_fastinstall_version in "$_fastinstall_stack" | '?') return 0 ;; esac
    else
        _fastinstall_found=$(command sha256sum <"$_fastinstall_core" 2>/dev/null) || return 0
    fi
    case $_fastinstall_found/$_fastinstall_version in
        "$_fastinstall_sha256"*/"$_fastinstall_stack") ;;
        "$_fastinstall_sha256"*) _fastinstall_change="is mixed with files of Pillow $_fastinstall_version" ;;
        */"$_fastinstall_stack") _fastinstall_change='was replaced with another build' ;;
        *) _fastinstall_change="was replaced with Pillow $_fastinstall_version" ;;
    esac
}

# If conda installed stack and guard without fastinstall, check the stack's record and its INSTALLER file.
_fastinstall_compare_record() {
    _fastinstall_name='the Pillow with SIMD kernels' _fastinstall_repair=doctor _fastinstall_found=''
    _fastinstall_program=fastinstall
    for _fastinstall_file in "$CONDA_PREFIX"/conda-meta/fastinstall-guard-*.json; do
        [ -r "$_fastinstall_file" ] || return 0
    done
    for _fastinstall_file in "$CONDA_PREFIX"/conda-meta/pillow-*-simd_*.json; do
        [ ! -r "$_fastinstall_file" ] || _fastinstall_found=$_fastinstall_file
    done
    [ -n "$_fastinstall_found" ] || { _fastinstall_change='is no longer what conda has on record'; return 0; }
    for _fastinstall_file in "$CONDA_PREFIX"/lib/python3.*/site-packages/[Pp]illow*.dist-info/INSTALLER; do
        case $_fastinstall_file in */python3.1/*) continue ;; esac
        [ -r "$_fastinstall_file" ] || continue
        IFS= read -r _fastinstall_found <"$_fastinstall_file" || :
        case $_fastinstall_found in
            conda | fastinstall | '') ;;
            *) _fastinstall_change="was replaced by $_fastinstall_found" ;;
        esac
    done
}

if [ "${FASTINSTALL_GUARD-}" != 0 ] && [ -n "${CONDA_PREFIX-}" ]; then
    _fastinstall_change=''
    _fastinstall_look 2>/dev/null || :
    if [ -n "$_fastinstall_change" ]; then
        _fastinstall_prefix=$CONDA_PREFIX
        case $_fastinstall_prefix in *[!A-Za-z0-9_./+,:@%-]*) _fastinstall_prefix="'$_fastinstall_prefix'" ;; esac
        printf '%s\n' "fastinstall: $_fastinstall_name in $CONDA_PREFIX $_fastinstall_change" \
            "hint: $_fastinstall_program $_fastinstall_repair --prefix $_fastinstall_prefix" >&2 || :
    fi
fi
unset -f _fastinstall_look _fastinstall_compare_state _fastinstall_look_closely _fastinstall_compare_record
unset _fastinstall_change _fastinstall_state _fastinstall_file _fastinstall_site _fastinstall_core _fastinstall_text \
    _fastinstall_stack _fastinstall_kind _fastinstall_key _fastinstall_a _fastinstall_b _fastinstall_c _fastinstall_d \
    _fastinstall_sha256 _fastinstall_expected _fastinstall_name _fastinstall_repair _fastinstall_found \
    _fastinstall_version _fastinstall_prefix _fastinstall_program || :
