//go:build !amd64 || purego

package columns

func addScaledFast(_, _ []float32, _ float32) int { return 0 }

func (*packing[T]) downFast(first int) int { return first }

func (*packing[T]) upFast(_, end int) int { return end }
