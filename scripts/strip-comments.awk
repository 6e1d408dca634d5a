# SPDX-License-Identifier: Apache-2.0
# C without what is not code: comments become blanks, strings and characters lose their content.
# The lines stay the same lines. With -v keep=comments the comments alone, each line after FILE:LINE:.
{
    out = said = ""
    line = $0
    while (line != "") {
        if (inside) {
            end = index(line, "*/")
            said = said (end == 0 ? line : substr(line, 1, end - 1)) " "
            if (end == 0)
                break
            line = substr(line, end + 2)
            inside = 0
        } else if (match(line, /\/\*|\/\/|"|'/) == 0) {
            out = out line
            break
        } else {
            mark = substr(line, RSTART, RLENGTH)
            out = out substr(line, 1, RSTART - 1)
            line = substr(line, RSTART + RLENGTH)
            if (mark == "//") {
                said = said line
                break
            }
            if (mark == "/*") {
                inside = 1
                out = out " "
            } else {
                out = out mark
                while (line != "") {
                    first = substr(line, 1, 1)
                    line = substr(line, first == "\\" ? 3 : 2)
                    if (first == mark)
                        break
                }
                out = out mark
            }
        }
    }
    print keep == "comments" ? FILENAME ":" FNR ":" said : out
}
