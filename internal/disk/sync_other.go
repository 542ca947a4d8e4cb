//go:build !linux

package disk

import "os"

// syncData makes a file's bytes and length durable.
func syncData(f *os.File) error { return f.Sync() }
