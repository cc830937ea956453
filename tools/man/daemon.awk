# The page of a daemon, of the file tools/man/NAME.roff and of what `NAME --print-options` prints:
# -v name= -v summary= -v version= -v described=FILE -v common=FILE
function whole(path, out, line) {
    while ((getline line < path) > 0) {
        out = out line "\n"
    }
    close(path)
    return out
}
BEGIN { FS = "\t" }
{
    details = ($2 != "-" ? toupper(substr($2, 1, 1)) substr($2, 2) ": " : "Value: ") $3
    details = details ($4 == "required" ? ". Required" : $4 == "-" ? "" : ". Default: " $4)
    options = options option("\\fB" roff($1) "\\fR", $5, details)
}
END {
    head(name, 8, summary)
    section("SYNOPSIS", "\\fB" roff(name) "\\fR [\\fB\\-\\-config\\fR \\fIFILE\\fR] " \
        "[\\fB\\-\\-\\fIOPTION\\fB=\\fIVALUE\\fR]... [\\fB\\-\\-check\\-config\\fR]\n.br\n\\fB" roff(name) \
        "\\fR \\fB\\-\\-help\\fR | \\fB\\-\\-version\\fR | \\fB\\-\\-print\\-options\\fR\n")
    section("DESCRIPTION", whole(described))
    printf "%s", whole(common)
    section("OPTIONS", ".PP\nIn the file as \\fIname\\fR\\ =\\ \"\\fIvalue\\fR\"; and as flags " \
        "\\fB\\-\\-\\fIname\\fB=\\fIvalue\\fR, which win.\n" options)
    section("SEE ALSO", "\\fBorbloom\\fR(1), \\fBorbloom\\-coordinator\\fR(8), \\fBorbloom\\-node\\fR(8), " \
        "\\fBorbloom\\-router\\fR(8), \\fBorbloom\\-link\\fR(8)\n")
}
