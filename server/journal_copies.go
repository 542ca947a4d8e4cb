package server

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/imagefile"
)

// journalCopyEvery is the interval between copies of the rooms' journals. A lost machine loses the ticks since the last copy.
const journalCopyEvery = time.Second

// RoomJournal is the journal of a room that this node runs, from the room's newest image on.
type RoomJournal struct {
	Room     string
	Image    RoomImage
	Segments []imagefile.SegmentSource
}

// journals returns the journals of the rooms that this node runs.
func (m *rooms) journals() (all []RoomJournal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.byName {
		now := r.run.Load()
		if now == nil || now.pointer == nil || now.loop.journal == nil {
			continue
		}
		image := now.pointer.newest.Load()
		if image == nil {
			continue // the first one follows at once
		}
		j := RoomJournal{Room: r.name, Image: *image}
		for _, s := range now.loop.journal.file.Segments() {
			c := imagefile.SegmentCopy{Epoch: now.pointer.grant.Taking().Epoch, Run: s.Run, Tick: s.Tick, Nth: s.Nth}
			j.Segments = append(j.Segments, imagefile.SegmentSource{SegmentCopy: c, Path: s.Path, Bytes: s.Bytes})
		}
		all = append(all, j)
	}
	return all
}

// copyJournals copies the journals once a second until ctx ends.
func (f *imageFolder) copyJournals(ctx context.Context) {
	next := time.NewTicker(journalCopyEvery)
	defer next.Stop()
	for failing := false; ; {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		err := f.copies.PutJournals(ctx, f.rooms.journals())
		if err != nil && !failing && ctx.Err() == nil {
			f.rooms.log.Warn("journals of rooms are not copied: the loss of this machine would lose what comes after their newest images", zap.Error(err))
		}
		failing = err != nil
	}
}

// PutJournals implements ImageCopies.
func (f sharedImages) PutJournals(_ context.Context, journals []RoomJournal) (err error) {
	for _, j := range journals {
		for _, segment := range j.Segments {
			err = errors.Join(err, f.copySegment(j.Room, segment))
		}
	}
	return err
}

// copySegment appends the new bytes of a segment to its copy.
func (f sharedImages) copySegment(room string, segment imagefile.SegmentSource) error {
	at, err := f.AppendSegment(room, segment.SegmentCopy, 0, nil)
	if err != nil {
		return err
	}
	content, err := segment.Read(at)
	if err == nil && len(content) > 0 {
		_, err = f.AppendSegment(room, segment.SegmentCopy, at, content)
	}
	return err
}

// ReadJournal implements ImageCopies.
func (f sharedImages) ReadJournal(room string, image RoomImage) ([]imagefile.CopiedSegment, error) {
	return f.ReadSegments(room, image.IsOld)
}

// installJournal brings the copy of a journal that follows an image of another node, as far as there is one. The next run is a new one all the
// same: the copy may lack the last ticks of which clients have heard, and the handles in these.
func (p *imagePointer) installJournal(image *RoomImage) {
	copied, err := p.copies.ReadJournal(p.room, *image)
	longest := map[imagefile.Segment][]byte{}
	for _, c := range copied { // of one run, in several takings
		s := imagefile.Segment{Run: c.Run, Tick: c.Tick, Nth: c.Nth, Lossy: true}
		if len(c.Content) > len(longest[s]) {
			longest[s] = c.Content
		}
	}
	for s, content := range longest {
		err = errors.Join(err, p.store.AddSegment(s, content))
	}
	if err != nil {
		p.log.Warn("the copy of the room's journal is not used: the room continues from its newest image", zap.String("image", image.Name()), zap.Error(err))
	}
}
