package world

import (
	"fmt"
	"iter"
	"math/bits"

	"github.com/worldd/worldd/bulk"
)

// QueryDef says whom a query meets: entities for which all of it is true.
type QueryDef struct {
	With    []Term // they have every one of these
	Without []Term // and none of these
	Changed []Term // they have every one of these, and it is Changed
	Awake   bool   // they have a body, and the last sleep flush left it awake
}

// Term is a component of any type, as a query takes it.
type Term interface {
	Presence() *bulk.Bitset
	Changed() *bulk.Bitset
	owner() *World
}

// Query is an operation on presence bits, worked out anew, word by word, each
// time that it is ranged over. It is made once and used in every step. Entities
// come in ascending order of slots, whatever their history. Doomed entities are
// met; those whose spawn is deferred are not.
//
// Structure may change during the loop: what the loop's body spawns, sets or
// removes in the current word of 64 slots does not change whom it meets there,
// and in later words it does. Deferred changes keep out of it altogether.
type Query struct {
	w       *World
	with    []*bulk.Bitset // at least one
	without []*bulk.Bitset
}

// NewQuery makes a query. The error names a component that is not of this world.
func (w *World) NewQuery(d QueryDef) (*Query, error) {
	q := &Query{w: w, without: []*bulk.Bitset{&w.deferred.reserved}}
	for _, list := range [][]Term{d.With, d.Without, d.Changed} {
		for i, term := range list {
			if term == nil || term.owner() != w {
				return nil, fmt.Errorf("%w: term %d of a query was not registered with this world", ErrUnknown, i)
			}
		}
	}
	if d.Awake {
		q.with = append(q.with, &w.sleepState.awake)
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

// Words yields the words that hold an entity which the query meets: the number
// of the word, and a bit for each such slot. It is the fast path: the values of
// a word are Component.Word and MutWord, the entities World.HandleAt.
func (q *Query) Words() iter.Seq2[uint32, uint64] {
	return func(yield func(uint32, uint64) bool) {
		for word, mask := q.nextWord(0); mask != 0; word, mask = q.nextWord(word + 1) {
			if !yield(word, mask) {
				return
			}
		}
	}
}

// from returns the first word at or above a word in which the query meets
// somebody, and whom; no bits when there is none. Each set is asked in turn, and
// one that is empty there says, by its summaries, where to go on.
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

// Count returns the number of entities that the query meets now.
func (q *Query) Count() int {
	n := 0
	for word, mask := q.nextWord(0); mask != 0; word, mask = q.nextWord(word + 1) {
		n += bits.OnesCount64(mask)
	}
	return n
}

// All yields the entities that the query meets.
func (q *Query) All() iter.Seq[Entity] {
	return func(yield func(Entity) bool) {
		for word, mask := q.nextWord(0); mask != 0; word, mask = q.nextWord(word + 1) {
			for ; mask != 0; mask &= mask - 1 {
				if !yield(q.w.tenant(word<<6 | uint32(bits.TrailingZeros64(mask)))) {
					return
				}
			}
		}
	}
}

// tenant is HandleAt of a live slot.
func (w *World) tenant(slot uint32) Entity { return bulk.NewHandle(slot, w.generations[slot]) }
