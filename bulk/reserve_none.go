//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package bulk

import "errors"

const canReserve = false

func reserve(uintptr) ([]byte, error) { return nil, errors.ErrUnsupported }

func release([]byte) error { return nil }
