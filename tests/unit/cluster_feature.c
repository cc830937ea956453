/* What is told of features, and what a document needs of its reader. */
#include "map/feature.h"

#include <criterion/criterion.h>
#include <string.h>

Test(cluster_feature, bits_are_given_once_and_for_good)
{
    cr_assert_eq(FEATURE_BASE, 0);
    cr_assert_eq(FEATURE_RENAMES, 1);
    cr_assert_eq(FEATURE_WINDOWS, 2);
    cr_assert_eq(FEATURE_EXPIRY, 3);
    cr_assert_eq(FEATURE_USERS, 4);
    cr_assert_eq(FEATURE_SITES, 5);
    cr_assert_eq(features_known(), 63);
    cr_assert_str_eq(feature_name(5), "sites");
    cr_assert_null(feature_name(6));
    cr_assert_null(feature_help(64));
}

Test(cluster_feature, sets_are_shown_by_name_or_number)
{
    char text[FEATURES_TEXT_BYTES];

    cr_assert_str_eq(features_show(0, text), "");
    cr_assert_str_eq(features_show(1, text), "base");
    cr_assert_str_eq(features_show(7, text), "renames, windows");
    cr_assert_str_eq(features_show(UINT64_C(1) << 63 | 2, text), "renames, feature 63");
    (void)features_show(UINT64_MAX, text);
    cr_assert_lt(strlen(text), sizeof text, "cut off, not beyond");
}

Test(cluster_feature, a_document_needs_what_is_in_it)
{
    struct filter_document document = {0};

    cr_assert_eq(features_of(&document), 1);
    document.content.named_epoch = 4;
    cr_assert_eq(features_of(&document), 3);
    document.content.named_epoch = 0;
    document.replaces = 2;
    cr_assert_eq(features_of(&document), 3);
    document.replaces = 0;
    document.former_name[0] = 'a';
    cr_assert_eq(features_of(&document), 3);
    document.window_us = 1;
    document.expiry.number = 1;
    cr_assert_eq(features_of(&document), 15);
    document.max_staleness = 1;
    cr_assert_eq(features_of(&document), 47, "who does not know it would take it out");
    document.max_staleness = 0;
    document.acks = 2;
    cr_assert_eq(features_of(&document), 47, "nor who does not know this");
    document.acks = 0;
    cr_assert_eq(document_put_sites(&document, &(struct site_set){.count = 1}), STATUS_OK);
    cr_assert_eq(features_of(&document), 47);
    document_fini(&document);
}
