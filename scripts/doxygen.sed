# SPDX-License-Identifier: Apache-2.0
# Turns the comments of the public headers into Doxygen's, for docs/Doxyfile: what stands above a declaration
# describes it, what stands behind one too, and the first comment describes the file.
1s,.*,,
2s,^/\*$,/** @file,
s,@\([A-Z]\),\\@\1,g
s,^\( *\)/\* \([^-]\),\1/** \2,
3,$s,^\( *\)/\*$,\1/**,
s,\([;\,{}]\)\( *\)/\*\** ,\1\2/**< ,
