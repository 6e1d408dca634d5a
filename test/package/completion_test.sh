#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The completions that are installed: bash's is asked, as bash asks it, and so is fish's where there is a fish;
# zsh reads its own where there is one.
set -euo pipefail

: "${SHOAL_BUILD:?the build folder}" "${CMAKE:=cmake}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "package.completion: $*" >&2
    exit 1
}

"$CMAKE" --install "$SHOAL_BUILD" --prefix "$work/prefix" --strip >"$work/log" || fail "$(cat "$work/log")"
share=$work/prefix/share
mkdir -p "$work/here/photos" "$work/here/runs"
touch "$work/here/model.onnx" "$work/here/wine.csv"
cd "$work/here"

# What bash offers for a line whose end is the cursor, sorted, in one line.
offered() {
    bash -c '
        . "$1"
        COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=($2) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        [[ $2 == *" " ]] && COMP_WORDS+=("") && COMP_CWORD=$((COMP_CWORD + 1))
        _shoal shoal
        printf "%s\n" "${COMPREPLY[@]}"' bash "$share/bash-completion/completions/shoal" "$1" | sort | paste -s -d ' '
}
# offers LINE WORDS: exactly these
offers() {
    local found
    found=$(offered "$1")
    [ "$found" = "$2" ] || fail "bash: '$1' offers '$found', not '$2'"
}
# includes LINE WORDS...: these among others
includes() {
    local line=$1 found word
    shift
    found=$(offered "$line")
    for word in "$@"; do
        [[ " $found " == *" $word "* ]] || fail "bash: '$line' does not offer '$word', but '$found'"
    done
}

program=$work/prefix/bin/shoal
mapfile -t commands < <("$program" help --markdown | sed -n 's/^| `shoal \([a-z-]*\).*/\1/p')
includes 'shoal ' "${commands[@]}"
offers 'shoal tr' 'train'
for command in "${commands[@]}"; do
    mapfile -t options < <("$program" help "$command" | sed -n '/^options:/,$s/^  \(--[a-z0-9-]*\).*/\1/p')
    includes "shoal $command --" "${options[@]}"
done
offers 'shoal help ex' 'exit-codes export'
offers 'shoal train --lr-f' '--lr-find'
offers 'shoal train lenet digits --optimizer ' 'adam adamw rmsprop sgd'
offers 'shoal train lenet digits --optimizer=ada' 'adam adamw'
offers 'shoal train --wire ' '16 32 8'
offers 'shoal train --strategy ps' 'ps-async ps-bounded: ps-sync'
offers 'shoal train --epochs ' ''
offers 'shoal export runs --format ' 'npz onnx safetensors'
offers 'shoal runs runs --export step' 'step_parts steps'
offers 'shoal train --json w' 'wine.csv'
offers 'shoal report runs -o w' 'wine.csv'
offers 'shoal train --run ' 'photos runs'
includes 'shoal train ' auto lenet mlp resnet: model.onnx
offers 'shoal train mob' 'mobilenetv2'
includes 'shoal train --epochs 3 --lr-find lenet ' digits mnist: photos: photos
offers 'shoal train lenet photos:p' 'photos'
offers 'shoal eval ru' 'runs'
offers 'shoal predict runs w' 'wine.csv'
offers 'shoal predict runs wine.csv mod' 'model.onnx'
offers 'shoal train lenet digits ' ''
offers 'shoal nothing x' ''

bash -n "$share/bash-completion/completions/shoal" || fail "bash does not read its completion"
shells=bash
if command -v zsh >/dev/null; then
    said=$(zsh -n "$share/zsh/site-functions/_shoal" 2>&1) || fail "zsh does not read its completion: $said"
    shells+=" zsh"
fi
if command -v fish >/dev/null; then
    fish_offers() {
        HOME=$work fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
            "$share/fish/vendor_completions.d/shoal.fish" "$1" | cut -f 1 | sort | paste -s -d ' '
    }
    found=$(fish_offers 'shoal train --optimizer ')
    [ "$found" = 'adam adamw rmsprop sgd' ] || fail "fish offers '$found' as optimizers"
    found=$(fish_offers 'shoal tr')
    [ "$found" = train ] || fail "fish offers '$found' as a command that begins with tr"
    shells+=" fish"
fi
echo "package.completion: ${#commands[@]} commands; $shells"
