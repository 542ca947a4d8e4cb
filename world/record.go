package world

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/cespare/xxhash/v2"
)

// The file format of a recording, all little-endian:
//
//	magic "wrec" | version u32 | ticks between hashes u32
//	image (with its own magic and end)
//	parts u32 x { length u32 | name }
//	step records x { length u32 | sum u64 | bytes }
//	the last step record of a closed recording is empty
//
// A step record holds the tick of a step, the calls before it in order, and the hashes
// after it. A sum is xxhash64 of everything before it except the image, which has its own
// sums: the head, the parts, and all step records including the present one.
const (
	recordMagic     = "wrec"
	recordVersion   = 6 // steps say that they began late
	recordUntimed   = 5 // the last version in which no step does
	recordWhole     = 4 // the oldest version that is read: its hashes cover all slots of large worlds
	stepHeaderBytes = 12
	// maxStepBytes bounds a step record for readers: a million spawns are 50 MB.
	maxStepBytes = 1 << 28
)

// Recorder writes the external changes to a world, for Replay. It belongs to the world's
// goroutine. A write error ends the recording, not the world: see Err.
type Recorder struct {
	w       *World
	to      io.Writer
	every   uint64
	sum     xxhash.Digest
	calls   callEncoder // its bytes are the next step record
	hashes  []uint64
	written int64  // bytes written
	limit   int64  // limit of written; 0: none
	full    func() // called at the limit
}

// Record starts a recording of the world. It writes the image, which must have been taken
// since the last step, and then makes one Write per Step. The world must not change between
// TakeImage and this call: neither part would contain the change. The recording holds
// hashes of all parts of the state after each every-th tick, or after each tick if every is
// 0. They cost about as much as two StateHashes, of 16,384 slots at most: larger worlds are hashed
// in ranges, a different one each time.
//
// Until Close, every call that changes the world between two steps is recorded. Writes
// through Component.Mut and similar calls are recorded with the next Step. Adding kinds,
// components or systems, or restoring the world, ends the recording with an error.
func (w *World) Record(to io.Writer, img *Image, every uint64) (*Recorder, error) {
	if w.recorder != nil && w.recorder.calls.err == nil {
		return nil, fmt.Errorf("%w: the world is being recorded already", ErrValue)
	}
	if img.tick != w.tick || w.running {
		return nil, fmt.Errorf("%w: the image was taken at tick %d, but the world is at tick %d", ErrValue, img.tick, w.tick)
	}
	r := &Recorder{w: w, to: to, every: max(every, 1)}
	r.sum.Reset()
	head := binary.LittleEndian.AppendUint32([]byte(recordMagic), recordVersion)
	head = binary.LittleEndian.AppendUint32(head, uint32(r.every))
	if err := r.writeHead(head); err != nil {
		return nil, err
	}
	n, err := img.WriteTo(to)
	if err != nil {
		return nil, err
	}
	r.written += n
	names := w.hashParts()
	head = binary.LittleEndian.AppendUint32(head[:0], uint32(len(names)))
	for _, name := range names {
		head = append(binary.LittleEndian.AppendUint32(head, uint32(len(name))), name...)
	}
	if err := r.writeHead(head); err != nil {
		return nil, err
	}
	w.startCalls(&r.calls)
	r.calls.random = append(r.calls.random[:0], img.random...)
	r.begin()
	w.recorder = r
	return r, nil
}

// writeHead writes a part of the file other than the image and the step records.
func (r *Recorder) writeHead(b []byte) error {
	_, _ = r.sum.Write(b) // never fails
	if _, err := r.to.Write(b); err != nil {
		return fmt.Errorf("world: recording: %w", err)
	}
	r.written += int64(len(b))
	return nil
}

// EndAt closes the recording before a step that would make it longer than limit bytes, and
// then calls full, inside that Step. The image is always written, even if it is longer. 0
// is no limit.
func (r *Recorder) EndAt(limit int64, full func()) { r.limit, r.full = limit, full }

// Close ends the recording with the last step; later changes are not recorded. It returns
// the error that ended the recording earlier, or the writer's. The writer stays open.
func (r *Recorder) Close() error {
	if r.w.recorder == r {
		r.w.recorder = nil
		if r.calls.err == nil {
			r.w.endCalls(&r.calls)
			r.calls.bytes = r.calls.bytes[:stepHeaderBytes]
			r.write()
		}
	}
	return r.calls.err
}

// NoteLate notes in the recording of the world, if there is one, that the next step begins late by the caller's clock.
// The world stays as it is. Replay.Late returns the time.
func (w *World) NoteLate(by time.Duration) {
	if r := w.recorder; r != nil && r.calls.err == nil && !w.running {
		ms := (by-1)/time.Millisecond + 1
		r.calls.op(opLate)
		r.calls.u32(uint32(min(max(ms, 1), math.MaxUint32)))
	}
}

// begin starts the record of the next step with its tick.
func (r *Recorder) begin() {
	r.calls.bytes = append(r.calls.bytes[:0], make([]byte, stepHeaderBytes)...)
	r.calls.u64(r.w.tick + 1)
}

// afterStep completes the step record and writes it.
func (r *Recorder) afterStep() {
	if r.calls.err != nil {
		return
	}
	if r.w.tick%r.every == 0 {
		r.calls.op(opHashes)
		r.hashes = r.w.appendHashes(r.hashes[:0], r.w.recordedRange(r.every))
		for _, h := range r.hashes {
			r.calls.u64(h)
		}
	}
	r.calls.noteState()
	r.write()
}

func (r *Recorder) write() {
	n := len(r.calls.bytes) - stepHeaderBytes
	if n > maxStepBytes {
		r.calls.fail(fmt.Errorf("%w: a step record of %d bytes; at most %d", ErrFull, n, maxStepBytes))
		return
	}
	if n > 0 && r.limit > 0 && r.written+int64(len(r.calls.bytes)+stepHeaderBytes) > r.limit {
		if r.Close() == nil {
			r.full()
		}
		return
	}
	_, _ = r.sum.Write(r.calls.bytes[stepHeaderBytes:]) // never fails
	binary.LittleEndian.PutUint32(r.calls.bytes, uint32(n))
	binary.LittleEndian.PutUint64(r.calls.bytes[4:], r.sum.Sum64())
	_, err := r.to.Write(r.calls.bytes)
	if err != nil {
		r.calls.fail(fmt.Errorf("world: recording: tick %d: %w", r.w.tick, err))
		return
	}
	r.written += int64(len(r.calls.bytes))
	r.begin()
}
