package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

const recordingSuffix = ".recording"

// recordingFile is the argument of commands that read a recording.
type recordingFile struct {
	File string `arg:"" type:"path" placeholder:"FILE" help:"Recording from serve --record. For a room also the folder of serve --record, with --room."`
}

// recordings records rooms to the files DIR/KIND.recording and DIR/KIND/ID.recording. Since
// clients create rooms, the length of a file and the number of recorded rooms of a kind on disk
// are bounded.
type recordings struct {
	recordFlags
	log *zap.Logger

	mu    sync.Mutex
	rooms map[string]bool // those being recorded
}

// addTo records the game of a room, from the start or from its first session on: clients cannot
// fill the disk with rooms that they do not enter. The image at the head of the recording is
// taken and encoded on the world's goroutine. That takes some 5 ms for 10,000 entities, less
// than a tick at 60 Hz, and happens once. The returned function ends the recording.
func (r *recordings) addTo(made *server.RoomGame, g *Instance, q server.RoomRequest, fromStart bool) (end func()) {
	var stop func()
	begin := func() {
		if stop == nil {
			stop = r.beginRecording(g, q)
		}
	}
	if fromStart {
		made.Attach = func(room *server.Room) {
			g.Attach(room)
			begin()
		}
	} else {
		join := made.Hooks.Join
		made.Hooks.Join = func(s *server.Session) (entity world.Entity, err error) {
			if join != nil {
				entity, err = join(s)
			}
			if err == nil {
				begin()
			}
			return entity, err
		}
	}
	return func() {
		if stop != nil { // otherwise the room has not begun, or had no session
			stop()
		}
	}
}

// beginRecording records a game, and returns the function that ends the recording.
func (r *recordings) beginRecording(g *Instance, q server.RoomRequest) (end func()) {
	path := filepath.Join(r.Record, filepath.FromSlash(q.Name)+recordingSuffix)
	r.noteRoom(q.Name, true)
	if err := r.allowRecording(path, q); err != nil {
		r.noteRoom(q.Name, false)
		r.log.Error("the room is not recorded", zap.String("path", path), zap.Error(err))
		return func() {}
	}
	endRecording := beginRecording(g, path, r.maxBytes(), r.log)
	return func() {
		endRecording()
		r.noteRoom(q.Name, false)
	}
}

func (r *recordings) noteRoom(room string, recorded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if recorded {
		r.rooms[room] = true
	} else {
		delete(r.rooms, room)
	}
}

// oldRecording is how long a room has not been recorded before its recording may be removed for
// another.
const oldRecording = 30 * 24 * time.Hour

// findRecording returns the path of a recording. If name is the folder of serve --record, it is the recording of the room.
func (p *program) findRecording(name string, room server.RoomRequest) (path string, err error) {
	info, err := os.Stat(name)
	if p.Rooms == nil || err != nil || !info.IsDir() {
		return name, nil // opening it says what is wrong
	}
	path = filepath.Join(name, filepath.FromSlash(room.Name)+recordingSuffix)
	if _, err = os.Stat(path); room.Name != "" && !errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	rooms, err := recordedRooms(name)
	switch {
	case err != nil:
		return "", usageError("cannot list the recordings: %w", err)
	case len(rooms) == 0:
		return "", usageError("%s is a folder without recordings of rooms: give the folder of serve --record, or a file", name)
	}
	return "", usageError("%s has no recording of room %q: set --room to one of its rooms, %s", name, room.Name, shortList(rooms))
}

// recordedRooms returns the names of the rooms that have a recording in the folder of serve --record, in their order.
func recordedRooms(folder string) (rooms []string, err error) {
	for _, pattern := range []string{"*" + recordingSuffix, "*/*" + recordingSuffix} {
		files, err := fs.Glob(os.DirFS(folder), pattern)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			rooms = append(rooms, strings.TrimSuffix(f, recordingSuffix))
		}
	}
	slices.Sort(rooms)
	return rooms, nil
}

// allowRecording makes the folder of a recording. If the kind has its maximum, it removes the
// oldest recording that is older than oldRecording, or returns an error if there is none.
func (r *recordings) allowRecording(path string, q server.RoomRequest) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil || q.ID == "" {
		return nil
	}
	n, oldest, err := r.otherRecordings(folder, q)
	if err == nil && n >= cmp.Or(r.RecordRooms, defaultRecordRooms) {
		if oldest != "" {
			r.log.Info("removed the recording of a room that was not recorded for long", zap.String("path", oldest))
			return errors.Join(os.RemoveAll(oldest+previousRecording), os.Remove(oldest))
		}
		err = fmt.Errorf("%s has %d recordings, the most that a kind may have: remove those that you do not need, or raise --record-rooms", folder, n)
	}
	return err
}

// otherRecordings returns the number of other rooms of the kind that are recorded or have a
// recording in folder, and the path of the oldest recording older than oldRecording, or "".
func (r *recordings) otherRecordings(folder string, q server.RoomRequest) (n int, oldest string, err error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return 0, "", err
	}
	before := time.Now().Add(-oldRecording)
	r.mu.Lock()
	defer r.mu.Unlock()
	rooms := map[string]bool{}
	for name := range r.rooms {
		if strings.HasPrefix(name, q.Kind+"/") {
			rooms[name] = true
		}
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), recordingSuffix)
		if !ok {
			continue
		}
		name := q.Kind + "/" + id
		info, err := f.Info()
		if err == nil && info.Mode().IsRegular() && !r.rooms[name] && info.ModTime().Before(before) {
			before, oldest = info.ModTime(), filepath.Join(folder, f.Name())
		}
		rooms[name] = true
	}
	delete(rooms, q.Name)
	return len(rooms), oldest, nil
}
