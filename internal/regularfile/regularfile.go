// Package regularfile opens files named by the user: regular files only, read up to a limit.
// Opening a named pipe blocks uninterruptibly until it has a writer, and a device may
// have no end.
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

// ErrTooLong reports a file longer than the caller's limit.
var ErrTooLong = errors.New("file too long")

// Open opens the regular file at path for reading, and follows links. The error is an
// *fs.PathError, and wraps ErrNotRegular if the file is not regular.
func Open(path string) (*os.File, error) {
	if err := check(os.Stat(path)); err != nil { // before opening, which may block
		return nil, pathError(path, err)
	}
	return checked(os.Open(path))
}

// Create opens the regular file at path for writing, and follows links. It makes the file if it
// does not exist, with permissions 0666 before umask, and empties it otherwise. Its errors are
// like Open's.
func Create(path string) (*os.File, error) {
	if err := CheckCreate(path); err != nil {
		return nil, err
	}
	file, err := checked(os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666))
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// CheckCreate returns the error of Create if path names something other than a regular file. A
// missing file is no error.
func CheckCreate(path string) error {
	if err := check(os.Stat(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return pathError(path, err)
	}
	return nil
}

// checked checks a file after opening it: its path may name another file by now.
func checked(file *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if err := check(file.Stat()); err != nil {
		return nil, errors.Join(pathError(file.Name(), err), file.Close())
	}
	return file, nil
}

// Read returns the content of the regular file at path. The error is Open's or the file
// system's, or wraps ErrTooLong if the file has more than limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = pathError(path, fmt.Errorf("%w: more than %d bytes", ErrTooLong, limit))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return data, nil
}

// WorldReadable reports whether the permission bits of the file at path let every user of
// this machine read it. It is false on Windows, which has no such bits.
func WorldReadable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0
}

// check returns err, or an error if the file is not regular.
func check(info fs.FileInfo, err error) error {
	if err != nil || info.Mode().IsRegular() {
		return err
	}
	return fmt.Errorf("%w: it is %s", ErrNotRegular, kind(info.Mode()))
}

// kind names the type of a file that is not regular.
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

// pathError returns an *fs.PathError for opening path. It uses the cause of a reason that is an
// *fs.PathError of another operation.
func pathError(path string, reason error) error {
	if of := (*fs.PathError)(nil); errors.As(reason, &of) {
		reason = of.Err
	}
	return &fs.PathError{Op: "open", Path: path, Err: reason}
}
