/* Does a replica that builds another array while it serves keep every acknowledged key?
 *
 * One shard of one filter with a key log, REPLICAS of it with quorums W and R, KEYS keys. Each
 * replica has a log and derives its arrays from it. It switches by itself, whenever it likes: the
 * document only names the wanted generation, which may change at any time, and a node may hold any
 * older document. So in this model a replica may begin to build, or give up what it builds, at any
 * moment; that covers every sequence of expand and abort, and every order among replicas.
 *
 *   build    a new array exists from a position of the log on; adds set bits in both
 *   backfill once the log is written through that position: what it holds up to there is set
 *   serve    the new array answers, the old one is freed
 *   valve    the old array is at capacity: adds set bits in the new one only, checks read both;
 *            what was begun is finished before the node follows another wish
 *   restart  the wanted array is built from the whole log; nothing is answered before
 *
 * Any message may be lost, late or repeated. A process may be killed at any time and as often as it
 * likes: what its log had not written is gone. Adds may be sent again. In an array that answers, the
 * bits of other keys may make any key look present ("chance").
 *
 * Property: once W replicas have acknowledged a key, never do R replicas say that it is absent.
 *
 * Wrong variants; each loses a key:
 *   SKIP_NEW         an add that the old array calls present does not go to the new array
 *   LOG_NEW_ONLY     an add that the array calls present is not logged
 *   DURABLE_ONLY     the backfill ends at what is written when it begins, not where dual-writing does
 *   NO_WAIT          the backfill does not wait until the log is written through the position
 *   SERVE_EARLY      the new array serves before the backfill is done
 *   FREE_EARLY       the old array is freed when the valve opens
 *   VALVE_READS_OLD  checks read only the old array while the valve is open
 *   VALVE_GIVES_UP   with the valve open, another wish is followed: the old array goes on alone
 *   VALVE_FORGOTTEN  a restart builds the old array again, from what is older than the valve
 *   READY_EARLY      a restarted node answers before its array is built
 *
 * Left out: verifying the new array (if it fails, the node begins again, which it may do here
 * anyway), memory limits, several shards, replica changes, gossip (a record that came from a peer is an
 * add whose answer was lost), filters without a key log. */

#ifndef REPLICAS
#define REPLICAS 3
#endif
#ifndef KEYS
#define KEYS 1
#endif
#if REPLICAS == 3
#define WRITE_QUORUM 2
#define READ_QUORUM 2
#else
#define WRITE_QUORUM REPLICAS
#define READ_QUORUM 1
#endif

#define OF(r, k) ((r) * KEYS + (k))

/* The log: each key has one position from 1 on, 0 if it is not there. */
byte at[REPLICAS * KEYS];
byte accepted[REPLICAS];     /* accepted so far */
byte written[REPLICAS]; /* safe so far */

/* The arrays. */
bool old_bits[REPLICAS * KEYS];
bool new_bits[REPLICAS * KEYS];
bool chance[REPLICAS]; /* the array that serves calls every key present */
bool ready[REPLICAS] = true;
bool building[REPLICAS];
byte from[REPLICAS];  /* where dual-writing began */
bool valve[REPLICAS]; /* open */
#ifdef VALVE_FORGOTTEN
bool was_open[REPLICAS]; /* a record of the log that a restart finds */
byte opened[REPLICAS];   /* the end of the log at that time */
#endif

bool acknowledged[KEYS];

#define SAYS_OLD(r, k) (old_bits[OF(r, k)] || chance[r])
#if defined(VALVE_READS_OLD)
#define SAYS_PRESENT(r, k) SAYS_OLD(r, k)
#elif defined(FREE_EARLY)
#define SAYS_PRESENT(r, k) (valve[r] -> new_bits[OF(r, k)] : SAYS_OLD(r, k))
#else
#define SAYS_PRESENT(r, k) (SAYS_OLD(r, k) || (valve[r] && new_bits[OF(r, k)]))
#endif

/* ---- a replica ---- */

#ifdef LOG_NEW_ONLY
#define LOGGED(r, k) (!SAYS_PRESENT(r, k))
#else
#define LOGGED(r, k) true
#endif
#ifdef SKIP_NEW
#define GOES_TO_NEW(r, k) (building[r] && (valve[r] || !SAYS_OLD(r, k)))
#else
#define GOES_TO_NEW(r, k) (building[r])
#endif

/* A key that is in the log already need not be logged again; bits may be set again. */
inline accept(r, k) {
    if
    :: at[OF(r, k)] == 0 && LOGGED(r, k) ->
        accepted[r]++;
        at[OF(r, k)] = accepted[r]
    :: else
    fi;
    if
    :: GOES_TO_NEW(r, k) -> new_bits[OF(r, k)] = true
    :: else
    fi;
    if
    :: !valve[r] -> old_bits[OF(r, k)] = true
    :: else
    fi
}

inline stop_building(r) {
    building[r] = false;
    valve[r] = false;
    from[r] = 0;
    for (i : 0 .. KEYS - 1) {
        new_bits[OF(r, i)] = false
    }
}

#if defined(SERVE_EARLY)
#define FILLED(r, k)    new_bits[OF(r, k)]
#define MAY_BACKFILL(r) true
#elif defined(NO_WAIT)
#define FILLED(r, k)    (new_bits[OF(r, k)] || IN_LOG(r, k, (written[r] < from[r] -> written[r] : from[r])))
#define MAY_BACKFILL(r) true
#else
#define FILLED(r, k)    (new_bits[OF(r, k)] || IN_LOG(r, k, from[r]))
#define MAY_BACKFILL(r) (written[r] >= from[r])
#endif
#define IN_LOG(r, k, to) (at[OF(r, k)] != 0 && at[OF(r, k)] <= (to))

inline backfill_and_serve(r) {
    for (i : 0 .. KEYS - 1) {
        old_bits[OF(r, i)] = FILLED(r, i)
    };
    chance[r] = false;
    stop_building(r)
}

inline die(r) {
    ready[r] = false;
    for (i : 0 .. KEYS - 1) {
        old_bits[OF(r, i)] = false;
        if
        :: at[OF(r, i)] > written[r] -> at[OF(r, i)] = 0
        :: else
        fi
    };
    accepted[r] = written[r];
    chance[r] = false;
#ifdef VALVE_FORGOTTEN
    was_open[r] = valve[r];
    opened[r] = (opened[r] < written[r] -> opened[r] : written[r]);
#endif
    stop_building(r)
}

#ifdef VALVE_FORGOTTEN
#define REBUILT(r) (was_open[r] -> opened[r] : accepted[r])
#else
#define REBUILT(r) accepted[r]
#endif

inline restart(r) {
    for (i : 0 .. KEYS - 1) {
        old_bits[OF(r, i)] = IN_LOG(r, i, REBUILT(r))
    };
    ready[r] = true
}

inline begin_build(r) {
    building[r] = true;
#ifdef DURABLE_ONLY
    from[r] = written[r];
#else
    from[r] = accepted[r];
#endif
}

inline open_valve(r) {
    valve[r] = true;
#ifdef VALVE_FORGOTTEN
    opened[r] = accepted[r];
#endif
}

#ifdef VALVE_GIVES_UP
#define MAY_GIVE_UP(r) building[r]
#else
#define MAY_GIVE_UP(r) (building[r] && !valve[r])
#endif

active[REPLICAS] proctype Replica() {
    byte i;

end:
    do
    :: atomic { written[_pid] < accepted[_pid] -> written[_pid]++ }
    :: atomic { ready[_pid] && !building[_pid] -> begin_build(_pid) }
    :: atomic { building[_pid] && !valve[_pid] -> open_valve(_pid) }
    :: atomic { building[_pid] && MAY_BACKFILL(_pid) -> backfill_and_serve(_pid); i = 0 }
    :: atomic { MAY_GIVE_UP(_pid) -> stop_building(_pid); i = 0 }
    :: atomic { ready[_pid] && !chance[_pid] -> chance[_pid] = true }
    :: atomic { ready[_pid] -> die(_pid); i = 0 }
    :: atomic { !ready[_pid] -> restart(_pid); i = 0 }
    od
}

/* ---- clients, through routers ---- */

#ifdef LOG_NEW_ONLY
#define SAFE(r, k) (at[OF(r, k)] <= written[r] && SAYS_PRESENT(r, k))
#else
#define SAFE(r, k) (at[OF(r, k)] != 0 && at[OF(r, k)] <= written[r])
#endif
#ifdef READY_EARLY
#define ANSWERS(r) true
#else
#define ANSWERS(r) ready[r]
#endif

#define WRITTEN_KEY (_pid - REPLICAS)

active[KEYS] proctype Writer() {
    bool answered[REPLICAS];
    byte r;
    byte n;

end:
    do
    :: atomic {
        select(r : 0 .. REPLICAS - 1);
        if
        :: ready[r] -> accept(r, WRITTEN_KEY)
        :: ready[r] && SAFE(r, WRITTEN_KEY) && !answered[r] && !acknowledged[WRITTEN_KEY] ->
            answered[r] = true;
            n++;
            acknowledged[WRITTEN_KEY] = n >= WRITE_QUORUM
        :: else
        fi;
        r = 0
    }
    od
}

/* Only "absent" can be wrong. Who asks before the acknowledgement is promised nothing. */
active proctype Reader() {
    bool seen[REPLICAS];
    byte k;
    byte r;
    byte n;

    atomic { select(k : 0 .. KEYS - 1) };
    acknowledged[k];
end:
    do
    :: atomic {
        select(r : 0 .. REPLICAS - 1);
        if
        :: ANSWERS(r) && !seen[r] && !SAYS_PRESENT(r, k) ->
            seen[r] = true;
            n++;
            assert(n < READ_QUORUM)
        :: else
        fi;
        r = 0
    }
    od
}
