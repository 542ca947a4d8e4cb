//go:build !amd64 || purego

package bulk

func (*packing[T]) downFast(first int) int { return first }

func (*packing[T]) upFast(_, end int) int { return end }
