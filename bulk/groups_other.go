//go:build !amd64 || purego

package bulk

// wholeFrom is how many words of a group must be looked at, for assignWhole to
// be faster than one by one.
func wholeFrom() int { return 16 }

func (op operation) combine(to, a, b *[wordLen]uint64) uint64 { return op.combineGo(to, a, b) }

func (b *Bitset) countRunFast(int, uint32) (int, bool) { return 0, false }
