//go:build !amd64 || purego

package bulk

// minWholeWords is the minimum number of nonempty words in a group for which assignWhole is
// faster than a loop over words.
func minWholeWords() int { return 16 }

func (op operation) combine(to, a, b *[wordLen]uint64) uint64 { return op.combineGo(to, a, b) }

func (b *levels) countRunFast(int, uint32) (int, bool) { return 0, false }

func (b *levels) appendRunFast(list []uint32, _ int, _ uint32) ([]uint32, bool) { return list, false }
