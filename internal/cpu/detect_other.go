//go:build !amd64 || purego

package cpu

func detect() Kernels { return Go }
