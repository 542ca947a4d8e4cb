//go:build !amd64 || purego

package bulk

func (b *Bitset) appendRunFast(list []uint32, _ int, _ uint32) ([]uint32, bool) { return list, false }
