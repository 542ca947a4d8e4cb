package disk

import (
	"errors"
	"os"
	"syscall"
)

// syncData makes a file's bytes and length durable, without its times.
func syncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for failed = syscall.EINTR; errors.Is(failed, syscall.EINTR); { // an interrupted call has synced nothing
			failed = syscall.Fdatasync(int(fd))
		}
	})
	if failed != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: failed}
	}
	return err
}
