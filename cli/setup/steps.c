/* Three cases: this machine by its units, or by hand; three machines. */
#include "cli/setup/steps.h"

#include <stdio.h>
#include <string.h>

enum { ENDPOINTS_BYTES = 1024 };

bool setup_is_for_units(const struct setup_options *options)
{
    return options->nmachines > 0 ||
           (strcmp(options->dir, SETUP_HOME) == 0 && strcmp(options->data, SETUP_DATA) == 0);
}

static void show_exports(const struct setup_options *options, const char *credential)
{
    char text[ENDPOINTS_BYTES];

    (void)printf("    export ORBLOOM_COORDINATOR=%s\n",
                 setup_endpoints(options, 0, "", ",", text, sizeof text));
    (void)printf("    export ORBLOOM_ROUTER=%s%s\n",
                 setup_endpoints(options, 1, "", ",", text, sizeof text), credential);
}

static void show_use(void)
{
    (void)printf("    orbloom doctor\n"
                 "    orbloom create seen --capacity 1M --fpr 1%%\n"
                 "    printf '%%s\\n' a b a | orbloom dedup seen\n"
                 "\n"
                 "Keep a copy of cluster.key in a second place, and back the store up (orbloom map "
                 "backup FILE):\n"
                 "without both the filters are lost.\n");
}

/* ---- this machine ---- */

static void show_units(const struct setup_options *options, bool shared)
{
    if (!shared) {
        (void)printf("The daemons run as the user orbloom, who has to read what is theirs:\n"
                     "    systemd-sysusers\n"
                     "    chgrp orbloom %s %s/cluster.key %s/http.token\n"
                     "    chmod 750 %s && chmod 640 %s/cluster.key %s/http.token\n\n",
                     options->dir, options->dir, options->dir, options->dir, options->dir,
                     options->dir);
    }
    (void)printf("Start them, now and with the machine:\n"
                 "    systemctl enable --now orbloom.target orbloom-coordinator orbloom-router \\\n"
                 "        orbloom-node@1 orbloom-node@2 orbloom-node@3\n");
}

static void show_by_hand(const struct setup_options *options)
{
    (void)printf("Start them:\n"
                 "    orbloom-coordinator --config %s/coordinator.conf &\n"
                 "    for i in 1 2 3; do orbloom-node --config %s/node-$i.conf & done\n"
                 "    orbloom-router --config %s/router.conf &\n",
                 options->dir, options->dir, options->dir);
}

static void show_one(const struct setup_options *options, bool shared)
{
    (void)printf("%s: a coordinator, three nodes and a router on this machine, on loopback.\n\n",
                 options->dir);
    if (setup_is_for_units(options)) {
        show_units(options, shared);
    } else {
        show_by_hand(options);
    }
    (void)printf("\nSee that all is well, and use it:\n");
    show_exports(options, "");
    show_use();
}

/* ---- three machines ---- */

static void show_machine(const struct setup_options *options, size_t machine)
{
    const char *name = options->machines[machine];
    char folder[SETUP_FOLDER_BYTES];

    (void)printf("    scp %s/* root@%s:" SETUP_HOME "/\n"
                 "    ssh root@%s 'cd " SETUP_HOME " && chgrp orbloom cluster.key http.token && "
                 "chmod 640 cluster.key http.token && chmod 644 *.conf'\n",
                 setup_folder(options, machine, folder), name, name);
}

static void show_start(const struct setup_options *options, size_t machine)
{
    (void)printf("    ssh root@%s systemctl enable --now orbloom.target%s orbloom-router "
                 "orbloom-node@%zu\n",
                 options->machines[machine],
                 setup_has_coordinator(options, machine) ? " orbloom-coordinator" : "",
                 machine + 1);
}

static void show_three(const struct setup_options *options)
{
    char folder[SETUP_FOLDER_BYTES];

    (void)printf("%s: a folder for each of three machines, with a node, a router%s.\n\n",
                 options->dir,
                 options->etcd != NULL ? " and a coordinator, which have their store in etcd"
                                       : ", and on the first one a coordinator");
    (void)printf("The packages are installed on all of them, so that there is " SETUP_HOME
                 ", mode 750, of root and the group orbloom.\n"
                 "Copy the files of each machine there:\n");
    for (size_t i = 0; i < options->nmachines; i++) {
        show_machine(options, i);
    }
    (void)printf("\nThen start them:\n");
    for (size_t i = 0; i < options->nmachines; i++) {
        show_start(options, i);
    }
    (void)printf("\nWho asks comes with a credential. Make the first admin's, see that all is "
                 "well, and use it:\n");
    show_exports(options, "");
    (void)printf("    orbloom user create root --role admin --credential root.cred --cluster-key "
                 "%s/cluster.key\n"
                 "    export ORBLOOM_CREDENTIAL=$PWD/root.cred\n",
                 setup_folder(options, 0, folder));
    show_use();
    (void)printf("%s holds the cluster key three times: remove it once all three machines have "
                 "their files.\n",
                 options->dir);
}

void setup_show_steps(const struct setup_options *options, bool shared)
{
    if (options->nmachines == 0) {
        show_one(options, shared);
    } else {
        show_three(options);
    }
}
