# What pages of commands and of daemons share: text as roff, and paragraphs of notes.

# Text as roff: literal, with what stands between backquotes in bold.
function roff(text, before, code, after) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/~/, "\\(ti", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/'/, "\\(aq", text)
    while (match(text, /`[^`]*`/)) {
        before = substr(text, 1, RSTART - 1)
        code = substr(text, RSTART + 1, RLENGTH - 2)
        after = substr(text, RSTART + RLENGTH)
        text = before "\\fB" code "\\fR" after
    }
    return text ~ /^[.]/ ? "\\&" text : text
}

# "NAME [FILE...]" as a synopsis shows it: what stands for something else in italics, words in bold.
function synopsis(words, out, before, token) {
    while (match(words, /[A-Za-z0-9-]+/)) {
        before = substr(words, 1, RSTART - 1)
        token = substr(words, RSTART, RLENGTH)
        words = substr(words, RSTART + RLENGTH)
        out = out roff(before) (token ~ /^[A-Z]+$/ ? "\\fI" : "\\fB") roff(token) "\\fR"
    }
    return out roff(words)
}

function head(name, section, summary) {
    printf ".TH %s %d \"\" \"orbloom %s\" orbloom\n", toupper(roff(name)), section, version
    printf ".SH NAME\n%s \\- %s\n", roff(name), roff(summary)
}

# A section, unless there is nothing in it.
function section(title, text) {
    if (text != "") {
        printf ".SH %s\n%s", title, text
    }
}

function option(term, help, details) {
    return ".TP\n" term "\n" roff(help) (details != "" ? "\n.br\n" roff(details) : "") "\n"
}

# Lines of notes, from `first` on to where the paragraph ends.
function ends_at(first, at) {
    for (at = first; at <= notes && note[at] != ""; at++) {
    }
    return at - 1
}

function verbatim(first, last, out, at) {
    out = ".PP\n.EX\n"
    for (at = first; at <= last; at++) {
        out = out roff(note[at]) "\n"
    }
    return out ".EE\n"
}

# "word    what it means", further lines indented.
function is_term(text) {
    return text ~ /^[^ ]+   *[^ ]/ && text ~ /^[^ ]+  /
}

function terms(first, last, out, at, term, text) {
    for (at = first; at <= last; at++) {
        text = note[at]
        if (is_term(text)) {
            term = substr(text, 1, index(text, " ") - 1)
            text = substr(text, length(term) + 1)
            out = out ".TP\n\\fB" roff(term) "\\fR\n"
        }
        sub(/^ +/, "", text)
        out = out roff(text) "\n"
    }
    return out
}

# A line begins a paragraph of its own where it begins with "Topic: " or a flag after the end of a sentence, or where
# its first word would have had room before it.
function begins(text, before) {
    return (text ~ /^([A-Z][a-z]+( [a-z]+)?: |--)/ && before ~ /[.:]$/) || length(before) + index(text " ", " ") < 72
}

function prose(first, last, out, at) {
    out = ".PP\n"
    for (at = first; at <= last; at++) {
        if (at > first && begins(note[at], note[at - 1])) {
            out = out ".PP\n"
        }
        out = out roff(note[at]) "\n"
    }
    return out
}

# Puts each paragraph of the notes where pages have it: `described`, `examples` or `exits`.
function sort_notes(at, last) {
    for (at = 1; at <= notes; at = last + 2) {
        last = ends_at(at)
        if (note[at] ~ /^Examples?:$/) {
            examples = examples verbatim(at + 1, last)
        } else if (sub(/^Example: /, "  ", note[at])) {
            examples = examples verbatim(at, last)
        } else if (note[at] ~ /^  orbloom /) {
            examples = examples verbatim(at, last)
        } else if (sub(/^Exit: /, "", note[at])) {
            exits = exits prose(at, last)
        } else if (note[at] ~ /^ /) {
            described = described verbatim(at, last)
        } else if (is_term(note[at])) {
            described = described terms(at, last)
        } else {
            described = described prose(at, last)
        }
    }
}
