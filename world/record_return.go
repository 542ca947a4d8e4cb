package world

import (
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"

	"github.com/worldd/worldd/field"
)

// ReplayMark is a place between two steps of a recording, to which Replay.Return goes back.
type ReplayMark struct {
	// Offset is the place of the next step in the recording, in bytes.
	Offset int64

	tick, checked uint64
	sum           xxhash.Digest
	programs      []*field.Program
}

// Mark returns the place of the next step. An image taken at the same time has the state that belongs to it.
func (r *Replay) Mark() ReplayMark {
	programs := r.calls.programs
	return ReplayMark{r.counted.bytes, r.w.tick, r.checked, r.reader.sum, programs[:len(programs):len(programs)]}
}

// Return continues the replay at a mark, also after an error of Next: it restores img, which was taken at the mark,
// and reads steps from from, which begins at the mark's Offset of the recording. The error is ErrValue for an image
// of another tick, or comes from Restore.
func (r *Replay) Return(m *ReplayMark, img *Image, from io.Reader) error {
	if img.tick != m.tick {
		return fmt.Errorf("%w: the image was taken at tick %d, and the mark at tick %d", ErrValue, img.tick, m.tick)
	}
	if err := r.w.Restore(img); err != nil {
		return err
	}
	r.counted = &countingReader{from, m.Offset}
	r.reader.from, r.reader.tick, r.reader.sum = r.counted, m.tick, m.sum
	r.calls.programs, r.checked = m.programs, m.checked
	return nil
}

// countingReader counts the bytes that it reads.
type countingReader struct {
	from  io.Reader
	bytes int64
}

// Read implements io.Reader.
func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.bytes += int64(n)
	return n, err
}
