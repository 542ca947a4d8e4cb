package nodefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/disk"
	"github.com/worldd/worldd/server/cluster"
)

// ErrInUse: another process runs the node from this folder.
var ErrInUse = errors.New("another process runs this node from the same folder: stop it, or give each node a name of its own (--node)")

// An Error reports a file that is not the node's: nothing is changed.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s is not this node's file: %v; move it away, and the node starts after the end of its lease", e.Path, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// File is the open file of a node. Keep may be called by several goroutines at once.
type File struct {
	disk    disk.Disk
	path    string
	node    string
	lock    io.Closer // nil: there are no locks here
	place   string    // empty: the lock proves nothing
	past    cluster.Past
	trouble error

	mu     sync.Mutex
	writes bool
}

// Open locks and reads the file of a node in a folder. The error wraps ErrInUse, or is an *Error.
func Open(folder, node string) (*File, error) {
	path, err := atomicfile.Resolve(filepath.Join(folder, fileName(node)))
	if err != nil {
		return nil, err
	}
	return openOn(disk.OS{}, path, node, placeOf)
}

// fileName returns the name of a node's file, in characters that all systems allow.
func fileName(node string) string {
	var b strings.Builder
	for _, c := range []byte(node) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String() + ".node"
}

func openOn(d disk.Disk, path, node string, placeOf func(fs.FileInfo) string) (*File, error) {
	f := &File{disk: d, path: path, node: node}
	lockPath := path + ".lock"
	lock, err := d.Lock(lockPath)
	switch {
	case errors.Is(err, disk.ErrLocked):
		return nil, fmt.Errorf("%s: %w", path, ErrInUse)
	case err != nil:
		f.trouble = fmt.Errorf("the node's file cannot be locked: after a crash the node waits for the end of its lease: %w", err)
	default:
		f.lock, f.writes = lock, true
		if info, err := d.Stat(lockPath); err == nil {
			f.place = placeOf(info)
		}
	}
	if err := f.read(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// read reads what the node knows.
func (f *File) read() error {
	c, err := f.readContent()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errDamaged):
		f.trouble = fmt.Errorf("%s is damaged and will be replaced: the node waits for the end of its lease", f.path)
	case errors.Is(err, errNewer):
		f.trouble = fmt.Errorf("%s was written by a newer version and stays as it is: after a crash the node waits for the end of its lease", f.path)
		f.writes = false
	case err != nil:
		return &Error{f.path, err}
	case c.Node != f.node:
		return &Error{f.path, fmt.Errorf("it is the file of node %.128q", c.Node)}
	default:
		f.past = c.Past
		if f.place == "" || c.Place != f.place { // N2
			f.past.Incarnations = nil
		}
	}
	return nil
}

func (f *File) readContent() (c content, err error) {
	file, err := f.disk.Open(f.path)
	if err != nil {
		return c, err
	}
	defer file.Close() // only read
	text, err := io.ReadAll(io.LimitReader(file, maxBytes))
	if err != nil {
		return c, err
	}
	return parse(text)
}

// Past returns what is known from earlier processes, all of which have ended.
func (f *File) Past() cluster.Past { return f.past }

// Trouble returns why the file does not help this process or the next one, or nil.
func (f *File) Trouble() error { return f.trouble }

// Keep makes p durable, if this process may write the file.
func (f *File) Keep(p cluster.Past) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.writes {
		return nil
	}
	f.sweep()
	file, name, err := f.disk.CreateTemporary(f.path, f.path)
	if err != nil {
		return err
	}
	_, err = file.Write(content{f.node, f.place, p}.text())
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.disk.Rename(name, f.path)
	}
	if err != nil {
		return errors.Join(err, f.disk.Remove(name))
	}
	return disk.SyncDir(f.disk, f.path)
}

// sweep removes the temporary files of processes that were killed while they wrote (N1). A failure is harmless.
func (f *File) sweep() {
	folder, base := filepath.Split(f.path)
	files, _ := f.disk.List(folder)
	for _, found := range files {
		if found.Regular && atomicfile.IsTemporary(base, found.Name) {
			_ = f.disk.Remove(filepath.Join(folder, found.Name))
		}
	}
}

// Close unlocks the file for the next process.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes = false
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}
