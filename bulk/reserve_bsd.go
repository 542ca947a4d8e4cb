//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package bulk

const noReserve = 0
