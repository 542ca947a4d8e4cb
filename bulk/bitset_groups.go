package bulk

// A group is the 64 words under one summary word. If most of its words have members,
// set operations combine the whole group at once, without testing each word, and
// compute the summary word as a by-product.

// spareGroups is scratch memory for assign: an empty group for operands that have
// ended, and one for intermediate results.
type spareGroups struct{ empty, between [wordLen]uint64 }

// group returns the words under summary word s, or empty beyond the end.
func (b *levels) group(s uint32, empty *[wordLen]uint64) *[wordLen]uint64 {
	if s < uint32(len(b.summary)) {
		return (*[wordLen]uint64)(b.words[s<<wordShift:])
	}
	return empty
}

// assignWhole is assign for all words under summary word s. Only the last step writes b,
// because b may be any of the operands.
func (b *Bitset) assignWhole(op operation, first BitsetView, others []BitsetView, s uint32, spare *spareGroups) {
	if s >= uint32(len(b.summary)) {
		b.grow(s << wordShift)
	}
	to := b.group(s, nil)
	words := first.group(s, &spare.empty)
	if len(others) == 0 {
		b.setSummary(s, union.combine(to, words, words))
		return
	}
	last := len(others) - 1
	for _, o := range others[:last] {
		op.combine(&spare.between, words, o.group(s, &spare.empty))
		words = &spare.between
	}
	b.setSummary(s, op.combine(to, words, others[last].group(s, &spare.empty)))
}

// setSummary replaces summary word s and updates the top level (B1).
func (b *Bitset) setSummary(s uint32, summary uint64) {
	b.summary[s] = summary
	if summary == 0 {
		b.top[s>>wordShift] &^= 1 << (s & wordMask)
	} else {
		b.top[s>>wordShift] |= 1 << (s & wordMask)
	}
}

// combineGo sets to[w] to op(a[w], b[w]) for each word and returns the summary word. It
// defines combine, and is used where there is no kernel. Arguments may be identical, but
// must not overlap otherwise.
func (op operation) combineGo(to, a, b *[wordLen]uint64) (summary uint64) {
	switch op {
	case intersection:
		for i := range to {
			to[i] = a[i] & b[i]
			summary = summary>>1 | nonzero(to[i])
		}
	case union:
		for i := range to {
			to[i] = a[i] | b[i]
			summary = summary>>1 | nonzero(to[i])
		}
	case difference:
		for i := range to {
			to[i] = a[i] &^ b[i]
			summary = summary>>1 | nonzero(to[i])
		}
	}
	return summary
}

// nonzero returns the highest bit if word is not zero, without a branch.
func nonzero(word uint64) uint64 { return (word | -word) &^ (allOnes >> 1) }
