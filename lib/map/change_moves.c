/* How a slot may change from one epoch to the next. */
#include "base/mutant.h"
#include "map/change.h"

static const struct change_move moves[] = {
    /* Begin: a pair of what there is and its successor, on the same node or another one. */
    {.from = SLOT_SINGLE, .to = SLOT_PAIR},
    /* The successor died, or its node is to leave: another one takes its place. */
    {.from = SLOT_PAIR, .to = SLOT_PAIR},
    /* The way back: nothing was read from the successor yet. */
    {.from = SLOT_PAIR, .to = SLOT_SINGLE},
    /* Read the successor. */
    {.from = SLOT_PAIR,
     .to = SLOT_MOVED,
     .keeps_incoming = true,
     .takes_fences = true,
     .takes_copy = true},
    /* End: the successor alone. */
    {.from = SLOT_MOVED, .to = SLOT_SINGLE, .hands_over = true, .takes_fences = true},
    /* Both at once: a mutant's. It comes last, as else the table ends above. */
    {.from = SLOT_PAIR,
     .to = SLOT_SINGLE,
     .hands_over = true,
     .takes_fences = true,
     .takes_copy = true},
};

enum { NMOVES = sizeof moves / sizeof moves[0] - (MUTANT(NO_PAIR) ? 0 : 1) };

enum slot_stage slot_stage(const struct slot *slot)
{
    if (!slot_is_pair(slot)) {
        return SLOT_SINGLE;
    }
    return slot->reads_incoming ? SLOT_MOVED : SLOT_PAIR;
}

const struct change_move *change_moves(size_t *count)
{
    *count = NMOVES;
    return moves;
}

static bool move_fits(const struct change_move *move, const struct slot *from,
                      const struct slot *to)
{
    const struct member *stays = move->hands_over ? &from->incoming : &from->current;

    return move->from == slot_stage(from) && move->to == slot_stage(to) &&
           member_equal(&to->current, stays) &&
           move->keeps_incoming == member_equal(&to->incoming, &from->incoming);
}

const struct change_move *change_move_of(const struct slot *from, const struct slot *to)
{
    for (size_t i = 0; i < NMOVES; i++) {
        if (move_fits(&moves[i], from, to)) {
            return &moves[i];
        }
    }
    return NULL;
}
