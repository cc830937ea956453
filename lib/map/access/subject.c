/* One part after the other: attribute=value, parted by a comma, or a plus within a part. */
#include "map/access/subject.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* What people write, and what stands in the text for it. */
static const struct {
    const char *written;
    const char *name;
} names[] = {
    {"CN", "CN"},
    {"commonName", "CN"},
    {"O", "O"},
    {"organizationName", "O"},
    {"OU", "OU"},
    {"organizationalUnitName", "OU"},
    {"C", "C"},
    {"countryName", "C"},
    {"L", "L"},
    {"localityName", "L"},
    {"ST", "ST"},
    {"S", "ST"},
    {"stateOrProvinceName", "ST"},
    {"street", "street"},
    {"streetAddress", "street"},
    {"DC", "DC"},
    {"domainComponent", "DC"},
    {"UID", "UID"},
    {"userId", "UID"},
    {"emailAddress", "emailAddress"},
    {"email", "emailAddress"},
    {"E", "emailAddress"},
    {"serialNumber", "serialNumber"},
    {"SN", "SN"},
    {"surname", "SN"},
    {"GN", "GN"},
    {"givenName", "GN"},
    {"title", "title"},
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* As OpenSSL writes it. */
static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'A' && c <= 'F');
}

static int value_of(char hex)
{
    return is_digit(hex) ? hex - '0' : hex - 'A' + 10;
}

/* One that has another name in the text. */
static bool is_misnamed(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i].written) == size && strncasecmp(names[i].written, text, size) == 0) {
            return strlen(names[i].name) != size || strncmp(names[i].name, text, size) != 0;
        }
    }
    return false;
}

/* 2.5.4.77: one that OpenSSL has no name for. */
static bool is_number(const char *text, size_t size)
{
    bool dots = false;

    for (size_t i = 0; i < size; i++) {
        if (text[i] != '.' && !is_digit(text[i])) {
            return false;
        }
        dots = dots || text[i] == '.';
    }
    return dots && text[0] != '.' && text[size - 1] != '.';
}

static bool is_name(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!is_letter(text[i]) && !(i > 0 && (is_digit(text[i]) || text[i] == '-'))) {
            return false;
        }
    }
    return size > 0;
}

/* "CN=" at *at, and *at behind it. */
static const char *read_name(const char **at)
{
    const char *text = *at;
    size_t size = strcspn(text, "=,+");

    if (text[0] == ' ' || (size > 0 && text[size - 1] == ' ')) {
        return "there are no spaces around = and the commas between parts";
    }
    if (text[0] == '/') {
        return "parts are separated by commas, the last one of the name first, and not by /";
    }
    if (text[size] != '=') {
        return "each part is an attribute, = and its value; a comma in a value is \\,";
    }
    if (is_misnamed(text, size)) {
        return "attributes are called as OpenSSL writes them: CN, O, OU, C, L, ST, street, DC, "
               "UID, emailAddress, serialNumber, SN, GN, title";
    }
    if (!is_name(text, size) && (size == 0 || !is_number(text, size))) {
        return "an attribute is a name, such as CN, or a number, such as 2.5.4.77";
    }
    *at = text + size + 1;
    return NULL;
}

static bool ends(const char *at)
{
    return *at == '\0' || *at == ',' || *at == '+';
}

/* "#0C03616263" of an attribute or a type that OpenSSL does not know. It leaves a # as it is that
 * is all of a value. */
static const char *read_dump(const char **at)
{
    size_t size = strspn(*at + 1, "0123456789ABCDEF");

    if (size % 2 != 0 || !ends(*at + 1 + size)) {
        return "a value that begins with # is \\#, or # and hexadecimal digits in capitals";
    }
    *at += 1 + size;
    return NULL;
}

/* What is behind a backslash: a special character, or a byte that is not printed as it is. */
static const char *read_escape(const char **at, bool first)
{
    const char *text = *at + 1;

    if (is_hex(text[0]) && is_hex(text[1])) {
        int byte = 16 * value_of(text[0]) + value_of(text[1]);

        *at = text + 2;
        return byte < ' ' || byte >= 0x7f ? NULL
                                          : "only bytes that are no printable ASCII are \\XX";
    }
    if (text[0] != '\0' && strchr(",+\"\\<>;", text[0]) != NULL) {
        *at = text + 1;
        return NULL;
    }
    if ((text[0] == '#' && first) ||
        (text[0] == ' ' && (first || text[1] == '\0' || strchr(",+", text[1]) != NULL))) {
        *at = text + 1;
        return NULL;
    }
    return "a backslash stands before , + \" \\ < > ; before # and a space at the beginning, a "
           "space at the end, and before two hexadecimal digits in capitals";
}

/* The value at *at, and *at behind it. */
static const char *read_value(const char **at)
{
    const char *begin = *at;
    const char *fault = NULL;

    if (**at == '#') {
        return read_dump(at);
    }
    while (fault == NULL && !ends(*at)) {
        char c = **at;

        if (c == '\\') {
            fault = read_escape(at, *at == begin);
        } else if (c < ' ' || c > '~') {
            return "bytes that are no printable ASCII are written \\XX: \\C3\\BC";
        } else if (strchr("\"<>;", c) != NULL) {
            return "\" < > and ; stand behind a backslash";
        } else if (c == ' ' && (*at == begin || ends(*at + 1))) {
            return "there are no spaces around = and the commas between parts; one that a value "
                   "begins or ends with stands behind a backslash";
        } else {
            (*at)++;
        }
    }
    return fault == NULL && *at == begin ? "a part has no value" : fault;
}

const char *subject_fault(const char *text)
{
    const char *at = text;
    const char *fault;

    if (text[0] == '\0') {
        return "it is empty";
    }
    for (;;) {
        fault = read_name(&at);
        fault = fault == NULL ? read_value(&at) : fault;
        if (fault != NULL || *at == '\0') {
            return fault;
        }
        at++;
    }
}
