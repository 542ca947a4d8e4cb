package replication

import (
	"iter"
	"math/bits"
	"slices"
)

// slotSet is a sparse set of slots: it takes 8 bytes per word with a member, and 32 bytes
// per 4,096 slots up to the highest member.
type slotSet struct {
	groups []slotGroup
	size   int
}

// slotGroup is 64 words. It stores the words that have a member.
type slotGroup struct {
	summary uint64 // which words are stored
	words   []uint64
}

// locateWord returns the position of a slot's word among the stored words.
func (g *slotGroup) locateWord(slot uint32) (at int, kept bool) {
	bit := uint64(1) << (slot >> 6 & 63)
	return bits.OnesCount64(g.summary & (bit - 1)), g.summary&bit != 0
}

func (s *slotSet) has(slot uint32) bool {
	if int(slot>>12) >= len(s.groups) {
		return false
	}
	g := &s.groups[slot>>12]
	at, kept := g.locateWord(slot)
	return kept && g.words[at]>>(slot&63)&1 != 0
}

func (s *slotSet) set(slot uint32) {
	if need := int(slot>>12) + 1 - len(s.groups); need > 0 {
		s.groups = grow(s.groups, need)
	}
	g := &s.groups[slot>>12]
	at, kept := g.locateWord(slot)
	if !kept {
		g.words = slices.Insert(g.words, at, 0)
		g.summary |= 1 << (slot >> 6 & 63)
	}
	if bit := uint64(1) << (slot & 63); g.words[at]&bit == 0 {
		g.words[at] |= bit
		s.size++
	}
}

func (s *slotSet) clear(slot uint32) {
	if !s.has(slot) {
		return
	}
	g := &s.groups[slot>>12]
	at, _ := g.locateWord(slot)
	s.size--
	g.words[at] &^= 1 << (slot & 63)
	if g.words[at] == 0 {
		g.words = slices.Delete(g.words, at, at+1)
		g.summary &^= 1 << (slot >> 6 & 63)
	}
}

// generations maps slots to generations, initially 0. Each 64 slots of which one has a
// generation take 256 bytes, and each 4,096 another 512.
type generations struct {
	groups []*[64]*[64]uint32
}

func (g *generations) generationOf(slot uint32) uint32 {
	if group := int(slot >> 12); group < len(g.groups) && g.groups[group] != nil {
		if page := g.groups[group][slot>>6&63]; page != nil {
			return page[slot&63]
		}
	}
	return 0
}

// raiseTo raises a slot's generation to at least this one.
func (g *generations) raiseTo(slot, generation uint32) {
	if need := int(slot>>12) + 1 - len(g.groups); need > 0 {
		g.groups = grow(g.groups, need)
	}
	group := &g.groups[slot>>12]
	if *group == nil {
		*group = new([64]*[64]uint32)
	}
	page := &(*group)[slot>>6&63]
	if *page == nil {
		*page = new([64]uint32)
	}
	(*page)[slot&63] = max((*page)[slot&63], generation)
}

// words returns the words with members, in ascending order. The set must not change
// during the iteration.
func (s *slotSet) words() iter.Seq2[uint32, uint64] {
	return func(yield func(word uint32, mask uint64) bool) {
		for i := range s.groups {
			g := &s.groups[i]
			at := 0
			for rest := g.summary; rest != 0; rest &= rest - 1 {
				if !yield(uint32(i)<<6|uint32(bits.TrailingZeros64(rest)), g.words[at]) {
					return
				}
				at++
			}
		}
	}
}
