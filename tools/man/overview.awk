# A command in the list of all, of what `orbloom help --print COMMAND` prints: -v command=
$1 == "summary" {
    printf ".TP\n\\fBorbloom\\-%s\\fR(1)\n%s\n", roff(command), roff($2)
}
