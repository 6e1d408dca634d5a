# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # the build puts the tables of package/reference before this
#
# Completion of shoal for bash. _shoal_options, _shoal_places and _shoal_value know the commands. It reads
# the line itself, because bash splits words at colons, as in mnist:DIR.

# Offers what the kind allows ("words sync local:", "file") for $cur.
_shoal_offer() {
    local kind=${1%% *} words=
    case $kind in
    words) words=${1#words } ;;
    model) words="auto $_shoal_models" ;;
    data) words=$_shoal_formats ;;
    esac
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        # Something follows a colon at once.
        [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
    fi
    local path=$cur before=
    if [[ $kind == data && $cur == *:* ]]; then
        before=${cur%%:*}:
        path=${cur#*:}
    fi
    case $kind in
    file | model | data)
        local found
        compopt -o filenames 2>/dev/null
        while read -r found; do COMPREPLY+=("$before$found"); done < <(compgen -f -- "$path")
        ;;
    folder)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        ;;
    esac
}

_shoal() {
    local line=${COMP_LINE:0:COMP_POINT} words cur prev command i place=0 _shoal_reply
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    COMPREPLY=()
    [ ${#words[@]} -ge 2 ] || return 0
    cur=${words[-1]}
    prev=${words[-2]}
    command=${words[1]}
    if [ ${#words[@]} -eq 2 ]; then
        _shoal_offer "words $_shoal_commands"
        return 0
    fi
    if [[ $cur == --*=* ]]; then # bash itself splits the word there
        prev=${cur%%=*}
        cur=${cur#*=}
    fi
    if _shoal_value "$command" "$prev"; then
        _shoal_offer "$_shoal_reply"
    elif [[ $cur == -* ]]; then
        _shoal_options "$command"
        _shoal_offer "words ${_shoal_reply:-}"
    else
        for ((i = 2; i < ${#words[@]} - 1; i++)); do
            if [[ ${words[i]} != -?* ]]; then
                place=$((place + 1))
            elif _shoal_value "$command" "${words[i]}"; then
                i=$((i + 1))
            fi
        done
        _shoal_reply=()
        _shoal_places "$command"
        local last=$((${#_shoal_reply[@]} - 1))
        if [[ $place -gt $last && $last -ge 0 && ${_shoal_reply[last]} == \** ]]; then
            place=$last
        fi
        local kind=${_shoal_reply[place]:-any}
        _shoal_offer "${kind#\*}"
    fi
    # What stands before the last colon is another word for bash.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        local before=${cur%"${cur##*:}"}
        COMPREPLY=("${COMPREPLY[@]#"$before"}")
    fi
}
complete -F _shoal shoal
