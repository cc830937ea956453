/* Does a filter that grows by a chain of generations keep what was acknowledged?
 *
 * One shard, N=3 W=2 R=2. Nothing can be built anew, so a filter without key log grows by one more
 * generation: first the document lists it and nodes make its arrays; once these stand everywhere
 * the next epoch names it. Under epoch e adds go to generation e, checks read 1 to e. What an older
 * generation has for good is not put into the newest one again. A node answers requests of the
 * epoch that it holds alone, and says NOT_READY while it lacks an array.
 *
 * In memory a node that restarts comes back empty, as another incarnation: it never counts again.
 * With DISK its bits come back from its log, one generation after the other, the oldest first; bits
 * of adds that were refused after all are in no log. Accepting and writing to the log are one step:
 * what a kill takes with it had not been answered. Everybody may hold any older document, any
 * message may be lost, late or repeated, adds are tried again.
 *
 * Property: never do R replicas say, under one epoch, that a key is absent which was acknowledged
 * before they were asked.
 *
 * Wrong variants; each loses the key:
 *   EARLY and LACKS_UNNOTICED: the epoch names a generation at once, and a node takes adds for an
 *                   array that is still to be made
 *   READS_NEWEST    checks read the last generation
 *   OLD_EPOCHS      a request of an older epoch is answered from the generations that it names
 *   EMPTY_IS_FULL   a node that restarts in memory goes on as if it had all
 *   READY_EARLY     DISK: answers before all generations are read back
 *   TRUSTS_STRAYS   DISK: a key is left out for bits of an older generation that no log has
 *   With EARLY alone it holds: that a node lacks arrays is told, and costs answers, not keys.
 *
 * Left out: replicas that join and copy every generation (replica_change.pml has the epochs of
 * that), capacity, rates, false positives. */

#ifndef GENERATIONS
#define GENERATIONS 3
#endif
#ifndef RESTARTS
#define RESTARTS 2
#endif
#define NODES 3
#define WRITE_QUORUM 2
#define READ_QUORUM 2

byte document = 1; /* the newest epoch */
byte listed = 1;   /* generations that nodes are to make */
byte restarts;
bool acknowledged;

byte held[NODES] = 1;
bool counts[NODES] = true;
byte back[NODES] = GENERATIONS; /* so many generations are read back */
#define AT(n, g) (n) * GENERATIONS + (g) - 1
bool stands[NODES * GENERATIONS];
bool has[NODES * GENERATIONS];    /* the array, of the key */
bool logged[NODES * GENERATIONS];
bool strays[NODES * GENERATIONS]; /* bits that no log has */

/* ---- nodes ---- */

#ifdef OLD_EPOCHS
#define ACCEPTS(n, e) (held[n] >= (e))
#else
#define ACCEPTS(n, e) (held[n] == (e))
#endif
#ifdef READY_EARLY
#define IS_BACK(n, e) (back[n] > 0)
#else
#define IS_BACK(n, e) (back[n] >= (e))
#endif
#ifdef LACKS_UNNOTICED
#define HAS_ARRAYS(n, e) true
#else
#define HAS_ARRAYS(n, e) (stands[AT(n, e)])
#endif
#define ANSWERS(n, e) (ACCEPTS(n, e) && counts[n] && IS_BACK(n, e) && HAS_ARRAYS(n, e))
#ifdef READS_NEWEST
#define READS(g, e) ((g) == (e))
#else
#define READS(g, e) ((g) <= (e))
#endif
#ifdef TRUSTS_STRAYS
#define IS_KEPT(n, g) has[AT(n, g)]
#else
#define IS_KEPT(n, g) (has[AT(n, g)] && !strays[AT(n, g)])
#endif

/* Does an array that epoch e names have the key? Does an older one keep it for good? */
inline look(n, e) {
    found = false;
    kept = false;
    for (g : 1 .. GENERATIONS) {
        found = found || (READS(g, e) && has[AT(n, g)]);
        kept = kept || (g < (e) && IS_KEPT(n, g))
    };
    g = 0
}

inline restart(n) {
    for (g : 1 .. GENERATIONS) {
        has[AT(n, g)] = false;
        strays[AT(n, g)] = false
    };
    g = 0;
#ifdef DISK
    back[n] = 0
#else
    held[n] = document;
#ifndef EMPTY_IS_FULL
    counts[n] = false
#endif
#endif
}

active[NODES] proctype Node() {
    byte g;

    stands[AT(_pid, 1)] = true;
    do
    :: atomic { /* a new array is empty; they are made in order */
        select(g : 2 .. GENERATIONS);
        if
        :: g <= listed && !stands[AT(_pid, g)] ->
            stands[AT(_pid, g)] = true;
            has[AT(_pid, g)] = false
        :: else
        fi;
        g = 0
    }
    :: atomic { held[_pid] < document -> held[_pid]++ }
    :: atomic { restarts < RESTARTS && counts[_pid] -> restarts++; restart(_pid) }
#ifdef DISK
    :: atomic {
        back[_pid] < GENERATIONS ->
        back[_pid]++;
        has[AT(_pid, back[_pid])] = has[AT(_pid, back[_pid])] || logged[AT(_pid, back[_pid])]
    }
    :: atomic { /* an add is refused after its bits were set */
        counts[_pid] && back[_pid] == GENERATIONS && stands[AT(_pid, held[_pid])] &&
        !has[AT(_pid, held[_pid])] ->
        has[AT(_pid, held[_pid])] = true;
        strays[AT(_pid, held[_pid])] = true
    }
#endif
    od
}

/* ---- clients, through routers ---- */

active proctype Adder() {
    bool answered[NODES];
    bool found;
    bool kept;
    byte e = 1;
    byte n;
    byte g;
    byte count;

    do
    :: atomic {
        select(n : 0 .. NODES - 1);
        if
        :: ANSWERS(n, e) ->
            look(n, e);
            if
            :: !kept ->
                has[AT(n, e)] = true;
                logged[AT(n, e)] = true
            :: else
            fi;
            if /* or the answer is lost */
            :: !answered[n] ->
                answered[n] = true;
                count++;
                acknowledged = acknowledged || count >= WRITE_QUORUM
            :: true
            fi
        :: else
        fi;
        found = false;
        kept = false;
        n = 0
    }
    :: atomic { /* again, perhaps by who knows a newer document */
        count > 0 || e < document ->
        if
        :: e < document -> e++
        :: true
        fi;
        answered[0] = false;
        answered[1] = false;
        answered[2] = false;
        count = 0
    }
    od
}

/* Checks under one epoch, begun at any time after the acknowledgement. */
active proctype Reader() {
    bool seen[NODES];
    bool found;
    bool kept;
    byte e;
    byte n;
    byte g;
    byte count;

    atomic { acknowledged -> select(e : 1 .. document) };
    do
    :: atomic {
        select(n : 0 .. NODES - 1);
        look(n, e);
        if
        :: ANSWERS(n, e) && !seen[n] && !found ->
            seen[n] = true;
            count++;
            assert(count < READ_QUORUM)
        :: else
        fi;
        found = false;
        kept = false;
        n = 0
    }
    od
}

/* ---- the coordinator; any of them goes on where another one died ---- */

/* Who does not live is not waited for: in memory, who has restarted; with DISK, who is reading. */
#define HAS_ROOM(n, g) (stands[AT(n, g)] || !counts[n] || back[n] < GENERATIONS)
#ifdef EARLY
#define ALL_STAND(g) true
#else
#define ALL_STAND(g) (HAS_ROOM(0, g) && HAS_ROOM(1, g) && HAS_ROOM(2, g))
#endif

active proctype Coordinator() {
    do
    :: atomic { listed == document && listed < GENERATIONS -> listed++ }
    :: atomic { document < listed && ALL_STAND(listed) -> document++ }
    od
}
