/* mutant.h - planted defects: can the simulator and the unit tests fail?
 *
 * Where a rule matters, the code asks MUTANT(NAME), and does the wrong thing if so. It is constant:
 * 0, and so nothing at all, but in an object that is built as that mutant, with
 * -DORBLOOM_MUTANT=MUTANT_NAME (`make MUTANT=NAME`). What each of them breaks, and who must find
 * it, is in tests/sim/mutants.txt, which names the same ones as the table: tools/run-mutants.sh
 * sees to that. Any other name does not compile.
 */
#ifndef ORBLOOM_BASE_MUTANT_H
#define ORBLOOM_BASE_MUTANT_H

/* In the order of mutants.txt. */
#define MUTANT_TABLE(X)        \
    X(NO_FENCES)               \
    X(ONE_FENCE_SHORT)         \
    X(READ_ONE_WRITE_TWO)      \
    X(ADD_UP_EPOCHS)           \
    X(COUNT_JOINING)           \
    X(TAINT_IGNORED)           \
    X(RETRY_IS_NEW)            \
    X(ATTEMPT_NOT_TOLD)        \
    X(FORGOTTEN_IS_FIRST)      \
    X(LATE_FIRST_ATTEMPT)      \
    X(ANY_ORDER)               \
    X(AMNESIA_UNNOTICED)       \
    X(ANY_BOOT)                \
    X(ANY_POSITION)            \
    X(ANSWER_BEFORE_SYNC)      \
    X(ANSWER_WHILE_REPLAYING)  \
    X(LOG_NEW_ONLY)            \
    X(SYNC_BITS_ONLY)          \
    X(SYNC_ONE_SOURCE)         \
    X(CURSOR_BEFORE_DATA)      \
    X(DUPLICATE_UNWAITED)      \
    X(FENCE_BESIDE_LOG)        \
    X(VOLATILE_FENCE)          \
    X(REPORT_FIRST_PAGE)       \
    X(SYNC_COUNTS_JOINING)     \
    X(NO_PAIR)                 \
    X(NO_FENCE_V3)             \
    X(CHANGE_ONE_FENCE_SHORT)  \
    X(MERGE_UNCHECKED)         \
    X(DONE_FROM_MEMORY)        \
    X(COUNT_AT_ONCE)           \
    X(BARE_BEFORE_DURABLE)     \
    X(RETIRED_BEFORE_DURABLE)  \
    X(PARTIAL_IS_WHOLE)        \
    X(KNOWN_NOT_LOGGED)        \
    X(PRESENT_IS_RELAYED)      \
    X(END_BEFORE_SYNC)         \
    X(ENDS_OF_FEWER)           \
    X(SITE_CURSOR_BEFORE_SYNC) \
    X(SITE_CURSOR_OUTLIVES)    \
    X(SITE_CURSOR_OF_ONE)      \
    X(CUT_RUNS_UNPINNED)       \
    X(CUT_LOG_UNPINNED)        \
    X(LINES_ANY_GEOMETRY)      \
    X(FILTERS_NOT_NAMED)       \
    X(WATCH_FIRST)             \
    X(CUT_NARROW)              \
    X(REPAIR_CURSOR_FIRST)     \
    X(REPLACES_ANY)            \
    X(ANY_STORE)               \
    X(OLD_REVISION)            \
    X(SLICE_DUPLICATE_DROPPED) \
    X(KEYSET_FREED_EARLY)      \
    X(OLD_KEYSET_REPLAYED)     \
    X(GROW_SKIP_PRESENT)       \
    X(GROW_MIX_UNBOUND)        \
    X(GROW_DURABLE_ONLY)       \
    X(GROW_SERVE_EARLY)        \
    X(GROW_VALVE_OLD_ONLY)     \
    X(GROW_VALVE_NOT_REFILLED) \
    X(CHAIN_READS_NEWEST)      \
    X(CHAIN_JOINS_NEWEST)      \
    X(CHAIN_TRUSTS_STRAYS)     \
    X(CHAIN_VOTES_EARLY)       \
    X(SET_PASSED_OVER)         \
    X(TOUCH_CLEARS)            \
    X(GAIN_UNFILLED)           \
    X(LOSS_FEWER_SOURCES)      \
    X(LOSS_COMES_BACK)         \
    X(LOSS_UNCOPIED)           \
    X(LOSS_ANY_SILENT)         \
    X(VOUCH_ANY_SILENT)        \
    X(ROTATE_UNFENCED)         \
    X(SLICE_ONE_COUNT_SHORT)   \
    X(LATE_ADMIN)              \
    X(READ_BEFORE_ASKED)       \
    X(DROP_BY_NAME)            \
    X(ADD_BY_NAME)             \
    X(RENAME_UNFENCED)         \
    X(SLICE_TOO_FEW)           \
    X(BEGIN_UNFENCED)          \
    X(REBUILD_ONE_FENCE_SHORT) \
    X(COMMIT_RETURNS_UNFENCED) \
    X(COMMIT_UNFENCED)         \
    X(KEYSET_AGAIN)            \
    X(READER_UNDATED)          \
    X(READER_DATED_TWICE)      \
    X(REBUILD_ANY_LIST)        \
    X(REBUILD_ADDS_TO_NEXT)    \
    X(REBUILD_MERGE_ANY)       \
    X(ERASE_NO_TOMBSTONE)      \
    X(DROPPED_FORGOTTEN_EARLY) \
    X(OLD_EVIDENCE)            \
    X(FENCE_ANY_LIFE)          \
    X(BARE_NUMBER_FENCE)       \
    X(SNAPSHOT_ANY_HOSTING)    \
    X(SNAPSHOT_KEEPS_BITS)     \
    X(IMPRINT_FORGETS_LATER)   \
    X(IMPRINT_AHEAD_OF_LOG)    \
    X(IMPRINT_ANY_ARRAY)       \
    X(SYNC_TRUSTED)            \
    X(RIGHTS_ANY_NAME)         \
    X(ANY_USER_DROPS)          \
    X(DELETED_LET_IN)          \
    X(JOIN_OPEN_SYNC)          \
    X(TAIL_RELAYED)            \
    X(TAIL_NUMBERED)           \
    X(TAIL_ANY_END)            \
    X(TAIL_CAUGHT_UP)          \
    X(SITE_OPEN_UNNAMED)       \
    X(SITE_OPEN_TWO_NEWCOMERS) \
    X(SITE_OPEN_SAME_IDS)      \
    X(SITE_COUNT_UNCOPIED)     \
    X(SITE_ABSENT_UNMARKED)    \
    X(SITE_SETTLE_EARLY)       \
    X(SITE_LEAVE_UNMARKED)     \
    X(SITE_LEAVE_OTHERS_LACK)  \
    X(SITE_DROP_BY_GONE)       \
    X(SITE_SET_UNFENCED)       \
    X(SITE_GONE_FORGOTTEN)     \
    X(SITE_LOST_LIFE_STANDS)   \
    X(SITE_FILLING_ANSWERS)    \
    X(SITE_ADDS_ANY_TIME)      \
    X(SITE_EACH_ONE_SHORT)     \
    X(SITE_LEAVER_COUNTS)      \
    X(SITE_JOINING_LEFT_OUT)   \
    X(SITE_LEAVING_LEFT_OUT)   \
    X(SITE_UNSETTLED_BOUNDS)   \
    X(SITE_OLD_QUESTION)       \
    X(SITE_OLD_VOTES)          \
    X(SITE_OLD_MARK)           \
    X(SITE_MARK_UNAPPLIED)     \
    X(SITE_MARK_OF_FEWER)      \
    X(SITE_MARK_UNREAD)        \
    X(SITE_MARK_UNSENT)        \
    X(SITE_APPLIED_UNASKED)    \
    X(SITE_APPLIED_WITH_GAPS)  \
    X(SITE_APPLIED_UNCOME)     \
    X(SITE_REFUSED_IS_APPLIED) \
    X(SITE_REPEAT_ANY_CONTENT) \
    X(SITE_PLACE_HIGHEST)      \
    X(SITE_PLACE_OF_SOME)      \
    X(SITE_CONFIRM_ANY_SET)    \
    X(SITE_PUT_BACK_UNHEEDED)  \
    X(SITE_UNVOUCHED)          \
    X(SITE_LOWEST_JUDGED)      \
    X(SITE_VOUCHED_BY_ONE)     \
    X(SITE_DONE_UNVOUCHED)     \
    X(SITE_PLACE_ANY_BOOT)     \
    X(SITE_LIFE_UNTAGGED)      \
    X(SITE_LOSS_KEEPS_PLACES)  \
    X(SITE_MEMORY_OUTLIVES)    \
    X(SITE_HELD_BY_ONE)        \
    X(SITE_HELD_BY_HALF)       \
    X(SITE_HELD_OR_NOT)

#define MUTANT_ENUM(name) MUTANT_##name,
enum mutant { MUTANT_NONE, MUTANT_TABLE(MUTANT_ENUM) };
#undef MUTANT_ENUM

#ifndef ORBLOOM_MUTANT
#define ORBLOOM_MUTANT MUTANT_NONE
#endif

#define MUTANT(name) (MUTANT_##name == ORBLOOM_MUTANT)

#endif
