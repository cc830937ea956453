# The page of a command, of what `orbloom help --print COMMAND` prints: -v command= -v version=
BEGIN { FS = "\t" }
$1 == "words" { words = $2 == "-" ? "" : $2 }
$1 == "summary" { summary = $2 }
$1 == "note" { note[++notes] = $2 }
$1 == "flag" {
    term = ($3 != "-" ? "\\fB\\-" $3 "\\fR, " : "") "\\fB" roff("--" $2) "\\fR"
    if ($4 != "-") {
        term = term " \\fI" roff($4) "\\fR"
    }
    details = $5 == "-" ? "" : ($5 ~ /^[a-z0-9-]+( [|] [a-z0-9-]+)+$/ ? "One of: " : "Takes: ") $5
    if ($6 == "required") {
        details = details (details != "" ? ". " : "") "Required"
    } else if ($6 != "-") {
        details = details (details != "" ? ". " : "") "Default: " $6
    }
    if ($7 != "-") {
        details = details (details != "" ? ". " : "") "Not with --" $7
    }
    options = options option(term, $8, details)
}
END {
    described = ".PP\n" roff(summary) "\n"
    sort_notes()
    sub(/[.:;].*$/, "", summary)
    head("orbloom-" command, 1, tolower(substr(summary, 1, 1)) substr(summary, 2))
    n = split(words, form, / [|] /)
    for (i = 1; i <= (n > 0 ? n : 1); i++) {
        lines = lines (i > 1 ? ".br\n" : "") "\\fBorbloom " roff(command) "\\fR" \
            (form[i] != "" ? " " synopsis(form[i]) : "") (options != "" ? " [\\fIOPTIONS\\fR]" : "") "\n"
    }
    section("SYNOPSIS", lines)
    section("DESCRIPTION", described)
    section("OPTIONS", options)
    section("EXIT STATUS", exits)
    section("EXAMPLES", examples)
    section("SEE ALSO", "\\fBorbloom\\fR(1)\n")
}
