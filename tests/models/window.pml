/* Is a key of a window kept for as long as was promised, whatever clocks do?
 *
 * One shard, N=3 W=2 R=2, so F=2. A window of SLICES slices, each SLICE ticks of true time long. The
 * newest slice is a field of the document, and its number is that of the epoch here: an add under epoch
 * e goes into slice e. Checks read all slices that are kept, the newest one and SLICES before it. A
 * coordinator writes the next epoch when F nodes have fenced the one before, and each has counted a
 * full slice on its own clock since then. A node that holds an epoch frees the slices that it does
 * not name any more.
 *
 * A node's clock may stand still or lag at any time, not run ahead; it starts again with the
 * process. Nobody reads the time of day. Everybody may hold any older document, any message may
 * be lost, late or repeated, adds are tried again. Accepting and writing to the log are one step,
 * holding and having fenced are another (see rebuild.pml).
 *
 * Property: never do R replicas say, under one epoch, that a key is absent which was acknowledged
 * under an add that was sent less than SLICES * SLICE ticks ago; a key that is added again is kept from then on.
 *
 * Wrong variants; each loses the key:
 *   UNFENCED     an epoch is written after one slice, fenced or not
 *   ONE_SHORT    one node has fenced and counted, a fence less than F
 *   ONE_COUNTS   F have fenced, but only one of them has counted a slice since
 *   ONLY_SLICES  a slice less is kept
 *   DUPLICATES   a key that an older slice has is not logged again
 *   FAST_CLOCK   the clock of one node runs ahead: why clocks must not
 *   with FAST_CLOCK and SINCE_ALL it holds: each counts from when F have fenced
 *
 * Left out: several shards (F nodes of every shard are asked), whole filters that expire (as a window
 * of one slice), false positives. */

#ifndef SLICES
#define SLICES 1
#endif
#ifndef SLICE
#define SLICE 1
#endif
#define NODES 3
#define WRITE_QUORUM 2
#define READ_QUORUM 2
#define EPOCHS (SLICES + 3)
#ifdef ONLY_SLICES
#define KEPT SLICES
#else
#define KEPT (SLICES + 1)
#endif

byte document = 1;      /* the newest epoch, and slice */
byte held[NODES] = 1;   /* by each node, and fenced */
byte counted[NODES];    /* ticks since then, SLICE at most */
bool logged[NODES * (EPOCHS + 1)]; /* the key, by slice */
byte age = SLICES * SLICE; /* ticks since it was acknowledged last; see WINDOW */
bool fenced;            /* SINCE_ALL: F nodes have fenced the newest epoch */

byte sent;              /* ticks since the add was sent */
bool seen[NODES];       /* absent, in one check */
byte count_seen;

#define WINDOW   (SLICES * SLICE)
#define PROMISED (age < WINDOW)
#define IN(n, slice) logged[(n) * (EPOCHS + 1) + (slice)]

/* ---- nodes ---- */

#define FIRST_KEPT(e) ((e) < KEPT -> 1 : (e) - KEPT + 1)

inline take(n) {
    held[n]++;
    counted[n] = 0;
    i = FIRST_KEPT(held[n]);
    IN(n, i - 1) = false;
    i = 0
}

/* Does slice i, or a later one of those that epoch e names, have the key? */
inline look(n, e) {
    found = false;
    for (i : FIRST_KEPT(e) .. e) {
        found = found || IN(n, i)
    };
    i = 0
}

active[NODES] proctype Node() {
    byte i;

    do
    :: atomic { held[_pid] < document -> take(_pid) }
    :: atomic { counted[_pid] > 0 -> counted[_pid] = 0 } /* killed */
#ifdef FAST_CLOCK
    :: atomic { _pid == 0 -> counted[_pid] = SLICE }
#endif
    od
}

/* A tick of true time: each clock notices, or does not. */
inline tick(n) {
    if
    :: counted[n] < SLICE -> counted[n]++
    :: true
    fi
}

active proctype Time() {
    do
    :: atomic {
        tick(0);
        tick(1);
        tick(2);
        age = (PROMISED -> age + 1 : age);
        sent = (sent < WINDOW -> sent + 1 : sent);
        if /* a check that spans the end of the promise is promised nothing */
        :: !PROMISED ->
            seen[0] = false;
            seen[1] = false;
            seen[2] = false;
            count_seen = 0
        :: else
        fi
    }
    od
}

/* ---- clients, through routers ---- */

active proctype Adder() {
    bool answered[NODES];
    byte e = 1;
    byte n;
    byte i;
    byte count;
    bool found;

    do
    :: atomic {
        select(n : 0 .. NODES - 1);
        if
        :: held[n] == e && !answered[n] ->
#ifdef DUPLICATES
            look(n, e);
            IN(n, e) = !found || IN(n, e);
            found = false;
#else
            IN(n, e) = true;
#endif
            if /* or the answer is lost */
            :: answered[n] = true;
                count++;
                age = (count >= WRITE_QUORUM && sent < age -> sent : age)
            :: true
            fi
        :: else
        fi;
        n = 0
    }
    :: atomic { /* again, or another add; perhaps by who knows a newer document */
        count > 0 || e < document ->
        if
        :: e < document -> e++
        :: true
        fi;
        answered[0] = false;
        answered[1] = false;
        answered[2] = false;
        sent = 0;
        count = 0
    }
    od
}

/* Checks under one epoch, begun at any time; "absent" is right if the promise has ended meanwhile. */
active proctype Reader() {
    byte e = 1;
    byte n;
    byte i;
    bool found;

    do
    :: atomic {
        PROMISED ->
        select(n : 0 .. NODES - 1);
        look(n, e);
        if
        :: held[n] == e && !seen[n] && !found ->
            seen[n] = true;
            count_seen++;
            assert(count_seen < READ_QUORUM)
        :: else
        fi;
        n = 0;
        found = false
    }
    :: atomic { /* another check */
        count_seen > 0 || e < document ->
        if
        :: e < document -> e++
        :: true
        fi;
        seen[0] = false;
        seen[1] = false;
        seen[2] = false;
        count_seen = 0
    }
    od
}

/* ---- the coordinator ---- */

#define FENCED(n)  (held[n] == document)
#define FENCES     (FENCED(0) + FENCED(1) + FENCED(2))
#define COUNTED(n) (FENCED(n) && counted[n] == SLICE)
#define COUNTS     (COUNTED(0) + COUNTED(1) + COUNTED(2))

#if defined(UNFENCED)
#define MAY_ROTATE (counted[0] == SLICE)
#elif defined(ONE_SHORT)
#define MAY_ROTATE (COUNTS >= 1)
#elif defined(ONE_COUNTS)
#define MAY_ROTATE (FENCES >= 2 && COUNTS >= 1)
#elif defined(SINCE_ALL)
#define MAY_ROTATE (fenced && COUNTS >= 2)
#else
#define MAY_ROTATE (COUNTS >= 2)
#endif

active proctype Coordinator() {
    do
    :: atomic { document < EPOCHS && MAY_ROTATE -> document++; fenced = false }
#ifdef SINCE_ALL
    :: atomic {
        !fenced && FENCES >= 2 ->
        fenced = true;
        counted[0] = 0;
        counted[1] = 0;
        counted[2] = 0
    }
#endif
    od
}
