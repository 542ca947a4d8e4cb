// Package disktest simulates a disk that fails and crashes, for tests.
//
// # Terms
//
//   - An operation is one call that may change the disk: Create, Write, Sync, Rename, Link, Remove, SyncDir.
//     Operations are numbered from 0.
//   - The cache has the files as the process sees them, and the medium as they survive a power loss.
//   - [Disk.CrashAt] kills the process at an operation: from this operation on, all do nothing and
//     return [ErrCrashed].
//   - [Disk.Kill] is the disk after the process died: the cache stays, and is still not on the medium.
//     [Disk.PowerLoss] is the disk after the machine died.
//
// A failed Sync drops the bytes that it should have made durable: they stay in the cache, no later
// Sync writes them, and a power loss takes them. This is how Linux behaves.
package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/worldd/worldd/internal/disk"
)

// ErrCrashed is the error of all operations of a process that CrashAt has killed.
var ErrCrashed = errors.New("disktest: the process has crashed")

// ErrDone, in an error of SetFail, fails an operation that is done nevertheless.
var ErrDone = errors.New("disktest: it was done")

// errCrashing is ErrCrashed of the operation at which the process dies.
var errCrashing = fmt.Errorf("%w now", ErrCrashed)

// Op is the kind of an operation.
type Op uint8

// Operations.
const (
	Create Op = iota
	Write
	Sync
	Rename
	Link
	Remove
	SyncDir
)

func (op Op) String() string {
	return [...]string{"create", "write", "sync", "rename", "link", "remove", "syncdir"}[op]
}

// Loss says how much of the unsynced state a power loss takes.
type Loss uint8

// Losses.
const (
	Drop    Loss = iota // all of it is lost
	Keep                // nothing is lost
	Torn                // the first operations remain, the last write only up to some byte
	Reorder             // any sectors and any operations on names remain, whatever their order
)

// Losses are all kinds of losses.
var Losses = [...]Loss{Drop, Keep, Torn, Reorder}

func (l Loss) String() string { return [...]string{"drop", "keep", "torn", "reorder"}[l] }

// sector is the number of bytes that the medium writes whole.
const sector = 512

// Disk is a simulated disk with one folder for each prefix of paths. It may be used concurrently.
type Disk struct {
	mu       sync.Mutex
	ops      int
	crashAt  int // -1: never
	crashed  bool
	capacity int64 // of all files in the cache; 0: no limit
	fail     func(op Op, path string) error
	names    map[string]*inode // cache
	durable  map[string]*inode // medium
	changes  []change          // of names since the last SyncDir
	locked   map[string]bool   // by the process
}

// change is one change of names: from no longer names a file, and to does. Either may be empty.
type change struct {
	from, to string
	links    bool   // from still names the file
	created  *inode // of Create
}

// inode is a file, whatever its name.
type inode struct {
	cache, medium []byte
	dirty         []span // writes since the last Sync
	modified      int    // number of the operation that has written last
}

// span is a range of the cache.
type span struct{ from, to int }

// New returns an empty disk.
func New() *Disk {
	return &Disk{crashAt: -1, names: map[string]*inode{}, durable: map[string]*inode{}, locked: map[string]bool{}}
}

// CrashAt kills the process at operation n. A write is done up to some part of it.
func (d *Disk) CrashAt(n int) { d.guarded(func() { d.crashAt = n }) }

// Crashed reports whether CrashAt has killed the process.
func (d *Disk) Crashed() (crashed bool) {
	d.guarded(func() { crashed = d.crashed })
	return crashed
}

// Ops returns the number of operations so far.
func (d *Disk) Ops() (n int) {
	d.guarded(func() { n = d.ops })
	return n
}

// SetCapacity bounds the bytes of all files: a write beyond is short, and fails with ENOSPC. 0 is
// no limit.
func (d *Disk) SetCapacity(bytes int64) { d.guarded(func() { d.capacity = bytes }) }

// SetFail calls fail before each operation, which then fails with its error. fail may block, as a
// stuck disk does. Nil: nothing fails.
func (d *Disk) SetFail(fail func(op Op, path string) error) { d.guarded(func() { d.fail = fail }) }

// Flip inverts a bit of a file, in the cache and on the medium.
func (d *Disk) Flip(path string, bit int) {
	d.guarded(func() {
		node := d.names[path]
		node.cache[bit/8] ^= 1 << (bit % 8)
		if bit/8 < len(node.medium) {
			node.medium[bit/8] ^= 1 << (bit % 8)
		}
	})
}

// Put makes a durable file.
func (d *Disk) Put(path string, data []byte) {
	d.guarded(func() {
		node := &inode{cache: slices.Clone(data), medium: slices.Clone(data)}
		d.names[path], d.durable[path] = node, node
	})
}

// Data returns a file's bytes, or nil.
func (d *Disk) Data(path string) (data []byte) {
	d.guarded(func() {
		if node := d.names[path]; node != nil {
			data = slices.Clone(node.cache)
		}
	})
	return data
}

// Names returns the paths of all files, in order.
func (d *Disk) Names() (all []string) {
	d.guarded(func() { all = slices.Sorted(maps.Keys(d.names)) })
	return all
}

func (d *Disk) guarded(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// Kill returns the disk of the machine after the process has died. It shares nothing with d.
func (d *Disk) Kill() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after, copies := New(), map[*inode]*inode{}
	copied := func(from map[string]*inode) map[string]*inode {
		all := map[string]*inode{}
		for path, node := range from {
			if copies[node] == nil {
				copies[node] = &inode{slices.Clone(node.cache), slices.Clone(node.medium), slices.Clone(node.dirty), node.modified}
			}
			all[path] = copies[node]
		}
		return all
	}
	after.names, after.durable, after.ops = copied(d.names), copied(d.durable), d.ops
	for _, c := range d.changes {
		if c.created != nil {
			c.created = copied(map[string]*inode{"": c.created})[""]
		}
		after.changes = append(after.changes, c)
	}
	return after
}

// PowerLoss returns the disk after the machine has lost power. The random numbers choose where a
// loss is Torn, and what remains of Reorder.
func (d *Disk) PowerLoss(loss Loss, random *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after, copies := New(), map[*inode]*inode{}
	after.ops = d.ops
	names := maps.Clone(d.durable)
	last := random.IntN(len(d.changes) + 1)
	for i, c := range d.changes {
		switch {
		case loss == Drop, loss == Torn && i >= last, loss == Reorder && random.IntN(2) == 0:
			continue
		}
		c.apply(names)
	}
	for _, path := range slices.Sorted(maps.Keys(names)) { // the same random numbers for the same file
		node := names[path]
		if copies[node] == nil {
			data := node.lose(loss, random)
			copies[node] = &inode{cache: data, medium: slices.Clone(data), modified: node.modified}
		}
		after.names[path], after.durable[path] = copies[node], copies[node]
	}
	return after
}

// apply changes names. It does nothing to a file whose creation was lost.
func (c change) apply(names map[string]*inode) {
	node := c.created
	if c.from != "" {
		node = names[c.from]
		if !c.links {
			delete(names, c.from)
		}
	}
	if c.to != "" && node != nil {
		names[c.to] = node
	}
}

// lose returns what a power loss leaves of a file.
func (n *inode) lose(loss Loss, random *rand.Rand) []byte {
	data := slices.Clone(n.medium)
	switch loss {
	case Keep:
		return n.write(data, n.dirty)
	case Torn:
		kept := slices.Clone(n.dirty[:random.IntN(len(n.dirty)+1)])
		if len(kept) > 0 {
			last := &kept[len(kept)-1]
			last.to = last.from + random.IntN(last.to-last.from+1)
		}
		return n.write(data, kept)
	case Reorder:
		var kept []span
		for _, s := range n.dirty {
			for from := s.from; from < s.to; {
				to := min(from-from%sector+sector, s.to)
				if random.IntN(2) == 0 {
					kept = append(kept, span{from, to})
				}
				from = to
			}
		}
		return n.write(data, kept)
	}
	return data
}

// write copies ranges of the cache to data, with zeros between them.
func (n *inode) write(data []byte, spans []span) []byte {
	for _, s := range spans {
		data = append(data, make([]byte, max(0, s.to-len(data)))...)
		copy(data[s.from:s.to], n.cache[s.from:s.to])
	}
	return data
}

// begin counts an operation. It returns an error if it must not be done.
func (d *Disk) begin(op Op, path string) error {
	d.mu.Lock()
	fail := d.fail
	d.mu.Unlock()
	var err error
	if fail != nil {
		err = fail(op, path)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.ops
	if !d.crashed {
		d.ops++
	}
	switch {
	case d.crashed:
		return ErrCrashed
	case n == d.crashAt:
		d.crashed = true
		return errCrashing
	}
	if err != nil {
		return &fs.PathError{Op: op.String(), Path: path, Err: err}
	}
	return nil
}

// Create implements disk.Disk.
func (d *Disk) Create(path string) (disk.File, error) {
	failure := d.begin(Create, path)
	if failure != nil && !errors.Is(failure, ErrDone) {
		return nil, failure
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[path] != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	node := &inode{modified: d.ops}
	d.names[path] = node
	d.changes = append(d.changes, change{to: path, created: node})
	if failure != nil {
		return nil, failure
	}
	return &file{d: d, path: path, node: node, at: end}, nil
}

// CreateTemporary implements disk.Disk.
func (d *Disk) CreateTemporary(path, _ string) (disk.File, string, error) {
	name := fmt.Sprintf("%s.worldd-%016x.tmp", path, d.Ops()) // the same in each run of a test
	file, err := d.Create(name)
	return file, name, err
}

// Overwrite implements disk.Disk.
func (d *Disk) Overwrite(path string) (disk.File, error) {
	file, err := d.open(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return d.Create(path)
	}
	return file, err
}

// Append implements disk.Disk.
func (d *Disk) Append(path string) (disk.File, error) { return d.open(path, end) }

func (d *Disk) open(path string, at int) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	node := d.names[path]
	if node == nil || d.crashed {
		return nil, d.missing("open", path)
	}
	return &file{d: d, path: path, node: node, at: at}, nil
}

func (d *Disk) missing(op, path string) error {
	if d.crashed {
		return ErrCrashed
	}
	return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist}
}

// Open implements disk.Disk.
func (d *Disk) Open(path string) (fs.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	node := d.names[path]
	if node == nil || d.crashed {
		return nil, d.missing("open", path)
	}
	data := slices.Clone(node.cache)
	return opened{bytes.NewReader(data), node.describe(path)}, nil
}

// Stat implements disk.Disk.
func (d *Disk) Stat(path string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	node := d.names[path]
	if node == nil || d.crashed {
		return nil, d.missing("stat", path)
	}
	return node.describe(path), nil
}

// SameFile implements disk.Disk.
func (d *Disk) SameFile(a, b fs.FileInfo) bool { return a.(info).node == b.(info).node }

// Rename implements disk.Disk.
func (d *Disk) Rename(from, to string) error { return d.change(Rename, change{from: from, to: to}) }

// Link implements disk.Disk.
func (d *Disk) Link(from, to string) error {
	return d.change(Link, change{from: from, to: to, links: true})
}

// Remove implements disk.Disk.
func (d *Disk) Remove(path string) error { return d.change(Remove, change{from: path}) }

func (d *Disk) change(op Op, c change) error {
	failure := d.begin(op, c.from)
	if failure != nil && !errors.Is(failure, ErrDone) {
		return failure
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[c.from] == nil {
		return d.missing(op.String(), c.from)
	}
	if op == Link && d.names[c.to] != nil {
		return &fs.PathError{Op: "link", Path: c.to, Err: fs.ErrExist}
	}
	c.apply(d.names)
	d.changes = append(d.changes, c)
	return failure
}

// List implements disk.Disk.
func (d *Disk) List(folder string) (all []disk.Entry, err error) {
	for _, path := range d.Names() {
		if filepath.Dir(path) == filepath.Clean(folder) {
			all = append(all, disk.Entry{Name: filepath.Base(path), Bytes: int64(len(d.Data(path))), Regular: true})
		}
	}
	if d.Crashed() {
		return nil, ErrCrashed
	}
	return all, nil
}

// OpenDir implements disk.Disk.
func (d *Disk) OpenDir(path string) (disk.Dir, error) {
	if d.Crashed() {
		return nil, ErrCrashed
	}
	return dir{d, path}, nil
}

// Lock implements disk.Disk. A process that dies unlocks its files.
func (d *Disk) Lock(path string) (io.Closer, error) {
	file, err := d.Overwrite(path)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked[path] {
		return nil, disk.ErrLocked
	}
	d.locked[path] = true
	return lock{file, d, path}, nil
}

// lock is a locked file.
type lock struct {
	disk.File
	d    *Disk
	path string
}

func (l lock) Close() error {
	l.d.guarded(func() { delete(l.d.locked, l.path) })
	return nil
}

// dir is an open folder.
type dir struct {
	d    *Disk
	path string
}

func (dir) Close() {}

// Sync implements disk.Dir.
func (f dir) Sync() error {
	d := f.d
	failure := d.begin(SyncDir, f.path)
	if failure != nil && !errors.Is(failure, ErrDone) {
		return failure
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes, d.durable = nil, maps.Clone(d.names)
	return failure
}

// opened is a file that is open for reading.
type opened struct {
	*bytes.Reader
	info info
}

func (o opened) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o opened) Close() error               { return nil }

// info describes a file, which was modified as many seconds after 1970 as there were operations before.
type info struct {
	node     *inode
	name     string
	size     int64
	modified int
}

func (n *inode) describe(path string) info {
	return info{n, filepath.Base(path), int64(len(n.cache)), n.modified}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return 0o600 }
func (i info) ModTime() time.Time { return time.Unix(int64(i.modified), 0) }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }

// file is an open file.
type file struct {
	d    *Disk
	path string // when it was opened
	node *inode
	at   int // where the next write begins, or end
}

// end is where Append writes.
const end = -1

// Write implements disk.File.
func (f *file) Write(b []byte) (int, error) {
	err := f.d.begin(Write, f.path)
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	n, at := len(b), f.at
	if at == end {
		at = len(f.node.cache)
	}
	room := f.d.room() + int64(len(f.node.cache)-at)
	switch {
	case errors.Is(err, ErrCrashed) && !errors.Is(err, errCrashing): // dead before
		n = 0
	case err != nil && !errors.Is(err, ErrDone):
		n /= 2
	case f.d.capacity > 0 && int64(n) > room:
		n, err = int(room), &fs.PathError{Op: "write", Path: f.path, Err: syscall.ENOSPC}
	}
	if n > 0 {
		f.node.cache = slices.Replace(f.node.cache, at, min(at+n, len(f.node.cache)), b[:n]...)
		f.node.dirty = append(f.node.dirty, span{at, at + n})
		f.node.modified = f.d.ops
		if f.at != end {
			f.at += n
		}
	}
	return n, err
}

// room returns how many bytes fit.
func (d *Disk) room() int64 {
	used, counted := int64(0), map[*inode]bool{}
	for _, node := range d.names {
		if !counted[node] {
			counted[node] = true
			used += int64(len(node.cache))
		}
	}
	return max(0, d.capacity-used)
}

// Sync implements disk.File.
func (f *file) Sync() error {
	err := f.d.begin(Sync, f.path)
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	switch {
	case err == nil || errors.Is(err, ErrDone):
		f.node.medium = f.node.write(f.node.medium, f.node.dirty)
		f.node.dirty = nil
	case !errors.Is(err, ErrCrashed):
		f.node.dirty = nil // lost
	}
	return err
}

// Close implements disk.File.
func (f *file) Close() error { return nil }

// String lists the files, for failing tests.
func (d *Disk) String() string {
	var text []byte
	for _, path := range d.Names() {
		text = fmt.Appendf(text, "%s: %d bytes\n", path, len(d.Data(path)))
	}
	return string(text)
}
