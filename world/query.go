package world

import (
	"fmt"
	"iter"
	"math/bits"

	"github.com/worldd/worldd/bulk"
)

// QueryDef selects the entities that satisfy all of its conditions.
type QueryDef struct {
	With    []Term // entities must have all of these
	Without []Term // entities must have none of these
	Changed []Term // these must have Changed in the entity
	Awake   bool   // entities must have a body that was awake after the last sleep flush
}

// Term is a component of any type, as an argument of a query.
type Term interface {
	Presence() bulk.BitsetView
	Changed() bulk.BitsetView
	owner() *World
}

// Query selects entities by their components. Create it once and use it in every step: each
// range loop evaluates it, 64 slots at a time. It yields entities in ascending order of
// slots, including doomed ones, excluding those whose spawn is deferred.
//
// Components and entities may change during a loop: changes by the loop's body affect the
// query from the next word of 64 slots on. The loop does not yield entities that its body
// spawns: a body that spawns one each time would fill the world. Deferred changes do not
// affect the loop.
type Query struct {
	w       *World
	with    []bulk.BitsetView // at least one
	without []bulk.BitsetView
}

// NewQuery creates a query. The error names a component that does not belong to this
// world.
func (w *World) NewQuery(d QueryDef) (*Query, error) {
	q := &Query{w: w, without: []bulk.BitsetView{w.deferred.reserved.View()}}
	for _, list := range [][]Term{d.With, d.Without, d.Changed} {
		for i, term := range list {
			if term == nil || term.owner() != w {
				return nil, fmt.Errorf("%w: term %d of the query was not registered with this world", ErrUnknown, i)
			}
		}
	}
	if d.Awake {
		q.with = append(q.with, w.sleepState.awake.View())
	}
	for _, term := range d.Changed {
		q.with = append(q.with, term.Changed(), term.Presence())
	}
	for _, term := range d.With {
		q.with = append(q.with, term.Presence())
	}
	for _, term := range d.Without {
		q.without = append(q.without, term.Presence())
	}
	if len(q.with) == 0 {
		q.with = append(q.with, w.pool.Live())
	}
	return q, nil
}

// Words yields the words that contain matching entities: the number of the word and a
// mask with one bit per matching slot. It is the fast path: use Component.Word and
// MutWord for the values of a word, and SlotView.Handle for the entities.
func (q *Query) Words() iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) {
		began := q.w.beginLoop()
		for word, mask := q.nextOf(began, 0); mask != 0; word, mask = q.nextOf(began, word+1) {
			if !yield(word, mask) {
				return
			}
		}
	}
}

// nextWord returns the first word at or after word with matching slots, and their mask, or
// an empty mask. It skips empty words of a set by the set's summaries.
func (q *Query) nextWord(word uint32) (uint32, uint64) {
next:
	mask := ^uint64(0)
	for _, set := range q.with {
		bits := set.Word(word)
		if bits == 0 {
			slot, ok := set.Next(word << 6)
			if !ok {
				return 0, 0
			}
			word = slot >> 6
			goto next
		}
		mask &= bits
	}
	for _, set := range q.without {
		mask &^= set.Word(word)
	}
	if mask == 0 {
		word++
		goto next
	}
	return word, mask
}

// Count returns the number of matching entities.
func (q *Query) Count() int {
	n := 0
	for word, mask := q.nextWord(0); mask != 0; word, mask = q.nextWord(word + 1) {
		n += bits.OnesCount64(mask)
	}
	return n
}

// All yields the matching entities: read their values by Component.Get, and write them by
// Mut. Both return nil for a component that the loop's body has removed.
func (q *Query) All() iter.Seq[Entity] {
	return func(yield func(Entity) bool) {
		began := q.w.beginLoop()
		for word, mask := q.nextOf(began, 0); mask != 0; word, mask = q.nextOf(began, word+1) {
			for ; mask != 0; mask &= mask - 1 {
				if !yield(q.w.tenant(word<<6 | uint32(bits.TrailingZeros64(mask)))) {
					return
				}
			}
		}
	}
}

// tenant returns the entity of a live slot, faster than pool.HandleAt.
func (w *World) tenant(slot uint32) Entity { return bulk.NewHandle(slot, w.generations[slot]) }
