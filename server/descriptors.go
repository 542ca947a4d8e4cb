package server

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/worldd/worldd/server/imagefile"
)

const (
	// savesAtOnce bounds the saves of a process that run at the same time.
	savesAtOnce = 8
	// spareDescriptors is two for each save. A save needs one at a time, but as soon as it is
	// free another part of the process may take it.
	spareDescriptors = 2 * savesAtOnce
	// otherDescriptors estimates the files that a server opens besides its rooms: sockets,
	// connections of the admin port, and short-lived files.
	otherDescriptors = 32
)

// descriptorReserve holds file descriptors for saves. With it a process that has opened as many
// files as the system allows, for example one per room, can still save its worlds, including
// the last saves. A nil descriptorReserve reserves nothing.
type descriptorReserve struct {
	turns chan struct{} // a token for each save that may begin

	mu     sync.Mutex
	spares []*os.File
	lent   int
}

func newDescriptorReserve() *descriptorReserve {
	r := &descriptorReserve{turns: make(chan struct{}, savesAtOnce)}
	for range savesAtOnce {
		r.turns <- struct{}{}
	}
	r.openMissing()
	return r
}

// saveWithSpares calls save with two spare descriptors freed. If save finds no descriptor, it
// tries again with two more.
func (r *descriptorReserve) saveWithSpares(save func() error) error {
	if r == nil {
		return save()
	}
	<-r.turns
	defer func() { r.turns <- struct{}{} }()
	lent := 0
	defer func() {
		r.mu.Lock()
		r.lent -= lent
		r.mu.Unlock()
		r.openMissing()
	}()
	for {
		n := r.releaseSpares(2)
		lent += n
		if err := save(); n == 0 || !isOutOfDescriptors(err) {
			return err
		}
	}
}

// releaseSpares closes up to n spares, and returns how many it closed.
func (r *descriptorReserve) releaseSpares(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = min(n, len(r.spares))
	for range n {
		last := len(r.spares) - 1
		_ = r.spares[last].Close() // nothing was written
		r.spares = r.spares[:last]
	}
	r.lent += n
	return n
}

// openMissing opens missing spares, and reports whether all are open except the lent ones.
func (r *descriptorReserve) openMissing() bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.spares)+r.lent < spareDescriptors {
		file, err := os.Open(os.DevNull)
		if err != nil {
			return false
		}
		r.spares = append(r.spares, file)
	}
	return true
}

func (r *descriptorReserve) close() {
	if r != nil {
		r.releaseSpares(spareDescriptors)
	}
}

// isOutOfDescriptors reports whether err says that the process or the system has too many open files.
func isOutOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// explainDescriptors adds advice for the operator if err reports too many open files.
func explainDescriptors(err error) error {
	if !isOutOfDescriptors(err) {
		return err
	}
	return fmt.Errorf("%w: raise the process's limit of open files (ulimit -n, LimitNOFILE=), or allow fewer rooms", err)
}

// descriptorsNeeded estimates the most files that a server of c opens.
func (c RoomsConfig) descriptorsNeeded() uint64 {
	saved := 0
	for _, k := range c.Kinds {
		if !k.Unsaved && c.Images.Dir != "" {
			saved += k.MaxRooms
		}
	}
	perSaved := 1 // the lock
	if c.Images.Journal != imagefile.JournalOff {
		perSaved = 2
	}
	return uint64(otherDescriptors + spareDescriptors + perSaved*min(saved, c.MaxRooms) + c.MaxRooms*c.FilesPerRoom)
}
