package world

import (
	"iter"
	"math/bits"
)

// Pair points to the values of two components of one entity.
type Pair[A, B any] struct {
	A *A
	B *B
}

// Triple points to the values of three components of one entity.
type Triple[A, B, C any] struct {
	A *A
	B *B
	C *C
}

// All1 yields the matching entities that have the component, and its values for reading.
// Use Mut1 to write all values, or Mut to write some. It skips entities that lose the
// component earlier in the loop. All loops of this family panic if the query and a
// component belong to different worlds.
func All1[A any](q *Query, a *Component[A]) iter.Seq2[Entity, *A] {
	return func(yield func(Entity, *A) bool) { each1(q, a, false, yield) }
}

// All2 is like All1, for two components.
func All2[A, B any](q *Query, a *Component[A], b *Component[B]) iter.Seq2[Entity, Pair[A, B]] {
	return func(yield func(Entity, Pair[A, B]) bool) { each2(q, a, b, false, yield) }
}

// All3 is like All1, for three components.
func All3[A, B, C any](q *Query, a *Component[A], b *Component[B], c *Component[C]) iter.Seq2[Entity, Triple[A, B, C]] {
	return func(yield func(Entity, Triple[A, B, C]) bool) { each3(q, a, b, c, false, yield) }
}

// Mut1 is like All1, for writing: it marks every yielded value, as Mut does.
func Mut1[A any](q *Query, a *Component[A]) iter.Seq2[Entity, *A] {
	return func(yield func(Entity, *A) bool) { each1(q, a, true, yield) }
}

// Mut2 is like All2, for writing the first component's values and reading the second's.
func Mut2[A, B any](q *Query, a *Component[A], b *Component[B]) iter.Seq2[Entity, Pair[A, B]] {
	return func(yield func(Entity, Pair[A, B]) bool) { each2(q, a, b, true, yield) }
}

// Mut3 is like All3, for writing the first component's values and reading the others.
func Mut3[A, B, C any](q *Query, a *Component[A], b *Component[B], c *Component[C]) iter.Seq2[Entity, Triple[A, B, C]] {
	return func(yield func(Entity, Triple[A, B, C]) bool) { each3(q, a, b, c, true, yield) }
}

func each1[A any](q *Query, a *Component[A], write bool, yield func(Entity, *A) bool) {
	q.checkOwner(a)
	began := q.w.beginLoop()
	for word, mask := q.nextOf(began, 0); mask != 0; word, mask = q.nextOf(began, word+1) {
		values := a.openWord(word, mask, write)
		for mask &= a.presence.Word(word); mask != 0; mask &= (mask - 1) & a.presence.Word(word) {
			i := uint32(bits.TrailingZeros64(mask)) & 63
			if !yield(q.w.tenant(word<<6|i), &values[i]) {
				return
			}
		}
	}
}

func each2[A, B any](q *Query, a *Component[A], b *Component[B], write bool, yield func(Entity, Pair[A, B]) bool) {
	q.checkOwner(a)
	q.checkOwner(b)
	began := q.w.beginLoop()
	for word, mask := q.nextOf(began, 0); mask != 0; word, mask = q.nextOf(began, word+1) {
		mask &= b.presence.Word(word)
		as, bs := a.openWord(word, mask, write), b.values.Word(word)
		mask &= a.presence.Word(word)
		for ; mask != 0; mask &= (mask - 1) & a.presence.Word(word) & b.presence.Word(word) {
			i := uint32(bits.TrailingZeros64(mask)) & 63
			if !yield(q.w.tenant(word<<6|i), Pair[A, B]{&as[i], &bs[i]}) {
				return
			}
		}
	}
}

func each3[A, B, C any](q *Query, a *Component[A], b *Component[B], c *Component[C], write bool, yield func(Entity, Triple[A, B, C]) bool) {
	q.checkOwner(a)
	q.checkOwner(b)
	q.checkOwner(c)
	began := q.w.beginLoop()
	for word, mask := q.nextOf(began, 0); mask != 0; word, mask = q.nextOf(began, word+1) {
		mask &= b.presence.Word(word) & c.presence.Word(word)
		as, bs, cs := a.openWord(word, mask, write), b.values.Word(word), c.values.Word(word)
		mask &= a.presence.Word(word)
		for ; mask != 0; mask &= (mask - 1) & a.presence.Word(word) & b.presence.Word(word) & c.presence.Word(word) {
			i := uint32(bits.TrailingZeros64(mask)) & 63
			if !yield(q.w.tenant(word<<6|i), Triple[A, B, C]{&as[i], &bs[i], &cs[i]}) {
				return
			}
		}
	}
}

// openWord returns Word, or MutWord if write is set.
func (c *Component[T]) openWord(word uint32, mask uint64, write bool) *[64]T {
	if write {
		return c.MutWord(word, mask)
	}
	return c.values.Word(word)
}

// checkOwner panics unless a component of a loop belongs to the query's world.
func (q *Query) checkOwner(t Term) {
	if t.owner() != q.w {
		panic("world: a query loop uses a component that is not registered with the query's world")
	}
}
