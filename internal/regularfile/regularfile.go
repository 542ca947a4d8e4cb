// Package regularfile reads the files that a command line names: regular files
// only, and no more of one than the caller allows. Opening a named pipe waits for
// its writer, out of reach of a signal, and a device may have no end.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// ErrNotRegular reports a path that names a directory, pipe, socket or device.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLong reports a file that is longer than its reader allows.
var ErrTooLong = errors.New("file too long")

// Open opens the regular file at path for reading; links are followed. The error
// is an *fs.PathError, and wraps ErrNotRegular for anything but a regular file.
func Open(path string) (*os.File, error) {
	if err := check(os.Stat(path)); err != nil { // before opening, which may block
		return nil, refuse(path, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := check(file.Stat()); err != nil { // the path may name another file by now
		return nil, errors.Join(refuse(path, err), file.Close())
	}
	return file, nil
}

// Read returns the content of the regular file at path. The error is one of
// Open, the disk's, or wraps ErrTooLong if there are more than limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = refuse(path, fmt.Errorf("%w: more than %d bytes", ErrTooLong, limit))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return data, nil
}

// WorldReadable reports whether every user of this machine may read the file at
// path, as far as permission bits say. It is false on Windows, which has none.
func WorldReadable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0
}

func check(info fs.FileInfo, err error) error {
	if err != nil || info.Mode().IsRegular() {
		return err
	}
	return fmt.Errorf("%w: it is %s", ErrNotRegular, kind(info.Mode()))
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// refuse says that path cannot be opened for a reason, which may be an
// *fs.PathError of another operation.
func refuse(path string, reason error) error {
	if of := (*fs.PathError)(nil); errors.As(reason, &of) {
		reason = of.Err
	}
	return &fs.PathError{Op: "open", Path: path, Err: reason}
}
