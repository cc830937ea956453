# A command's or a daemon's rows for completion, of what `orbloom help --print COMMAND` or `DAEMON --print-options`
# prints. A line each: "words GRAMMAR", of plain words, and "--flag KIND [VALUE...] <tab> help", where KIND is
# switch, file, folder, one (of the values) or any.
BEGIN { FS = "\t" }

function kind_of(unit, range) {
    if (range ~ /^[a-z0-9-]+( [|] [a-z0-9-]+)+$/) {
        gsub(/ [|] /, " ", range)
        return "one " range
    }
    if (unit ~ /^(DIR|FOLDER)$/ || (unit == "path" && range ~ /^a folder/)) {
        return "folder"
    }
    return unit == "FILE" || unit == "path" ? "file" : "any"
}

# What is left of the words are forms of plain words; flags among them are completed as flags.
$1 == "words" {
    gsub(/\[--[a-z-]+\]/, "", $2)
    gsub(/[\[\]]/, "", $2)
    words = " " ($2 == "-" ? "" : $2) " "
    has_words = 1
    next
}
$1 == "flag" {
    kind = $4 == "-" ? "switch" : kind_of($4, $5)
    gsub(" --" $2 (kind == "switch" ? " " : " ([A-Z]+[.]* )?"), " ", words)
    print "--" $2 " " kind "\t" $8
    if ($3 != "-") {
        print "-" $3 " " kind "\t" $8
    }
    next
}
$1 == "summary" || $1 == "note" { next }
{ print "--" $1 " " kind_of($2, $3) "\t" $5 }
END {
    gsub(/ --[a-z-]+ ([A-Z]+[.]* )?/, " ", words)
    gsub(/^ +| +$/, "", words)
    if (has_words) {
        print "words " (words ~ /[A-Za-z]/ ? words : "")
    }
}
