package world

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// The file format of a segment of a journal, all little-endian:
//
//	magic "wjnl" | version u32 | length u32 | check u32 | head | sum u64
//	frames x { length u32 | check u32 | sum u64 | body }
//
//	head  flags u32 | run u64 | tick u64 | mark u64 | chain u64 | setup | calls | notes
//	body  tick u64 | notes' length u32 | hashes u32 x 5 | calls | notes | frameMark u8
//
// After each 511 bytes of this the file has a sectorMark. Version 1 has no marks.
//
// The head's setup, calls and notes have a length u32 each. The calls are those between the step of the
// head's tick and the image: the image contains them, the segment before does not. A setup is the beginning
// of an image, with chunks and sums of its own.
//
// The head's sum is xxhash64 of everything before it. A frame's sum is xxhash64 of the sum before it and the
// body. A check protects the length before it: a reader distinguishes a frame that was not written completely from a changed
// length. It is the lower half of xxhash64 of the length, and of the sum before or the magic and version.
const (
	journalMagic     = "wjnl"
	journalVersion   = 2
	headHeaderBytes  = 16
	frameHeaderBytes = 16
	bodyHeaderBytes  = 12 + 4*journalHashes
	callsAt          = frameHeaderBytes + bodyHeaderBytes // in a frame
	// maxHeadBytes bounds the head of a segment for readers.
	maxHeadBytes = 2 * maxStepBytes

	journalDurable = 1 // flag
)

// JournalConfig says which run a journal belongs to.
type JournalConfig struct {
	Run     uint64 // names the run; unique for a sequence of images
	Durable bool   // no output of a step leaves before its frame is durable
	Chain   uint64 // JournalReplay.Sum, in a world that continues a run after a replay; otherwise 0
}

// Journal turns each step of a world into a frame: the calls before the step, and hashes of a part of the
// state. A segment is the head that BeginSegment returns and the frames that follow it, one
// behind the other in a file. ReplayJournal repeats segments in a world that has been restored from an image.
//
// A journal belongs to the world's goroutine. It has no bound of its own: the caller begins a new segment
// with each image, and removes the segments that no image needs.
type Journal struct {
	w      *World
	config JournalConfig
	setup  []byte
	calls  callEncoder // its bytes are the frame of the next step
	frame  []byte      // of the last step
	head   []byte
	marked []byte // the last head or frame, with the marks of sectors
	length int64  // of the segment
	state  journalState
	sum    uint64 // of the last frame or head

	// The newest image since the last step: its mark, and the end of the calls that it contains. 0: none.
	imageMark uint64
	imageEnd  int
}

type journalState uint8

const (
	journalStarted  journalState = iota // BeginSegment is the next call
	journalStepping                     // Step is the next call
	journalSealed                       // Commit is the next call
)

// StartJournal starts a journal. BeginSegment must follow before the next Step. From now on, each Step must be followed
// by Commit, until Close or an error. The error is ErrValue if the world has a journal.
func (w *World) StartJournal(c JournalConfig) (*Journal, error) {
	if w.running || w.journal != nil && w.journal.calls.err == nil {
		return nil, fmt.Errorf("%w: the world has a journal, or a system starts one", ErrValue)
	}
	setup, err := w.encodeSetup()
	if err != nil {
		return nil, err
	}
	j := &Journal{w: w, config: c, setup: setup, sum: c.Chain}
	w.startCalls(&j.calls)
	j.begin()
	j.calls.forgetPrograms()
	w.journal = j
	return j, nil
}

// encodeSetup returns the world's setup in the format of an image.
func (w *World) encodeSetup() ([]byte, error) {
	img := &Image{version: imageVersion, config: w.cfg, program: w.program, kinds: w.appendKinds(nil)}
	img.random, _ = w.pcg.AppendBinary(nil) // the error is always nil
	w.eachColumn(img, func(column, *columnImage) {})
	var b bytes.Buffer
	chunks, err := newChunkWriter(&b)
	if err != nil {
		return nil, err
	}
	(&imageEncoder{chunkWriter: chunks, scratch: make([]byte, 8)}).setup(img)
	err = chunks.end()
	return b.Bytes(), err
}

// SetDurable makes later segments Durable, once the frames so far are durable and until the caller
// lets no more output leave.
func (j *Journal) SetDurable() { j.config.Durable = true }

// Close ends the journal. The world continues without.
func (j *Journal) Close() {
	j.w.endCalls(&j.calls)
	if j.w.journal == j {
		j.w.journal = nil
	}
}

// BeginSegment begins a segment with an image: with the newest image that TakeImage has taken since the last step, or
// else with the present state. It returns the head, which is valid until the next call, or the error that has
// ended the journal. It panics between Step and Commit, and if a system calls it.
func (j *Journal) BeginSegment(notes []byte) ([]byte, error) {
	if j.w.running || j.state == journalSealed {
		panic("world: BeginSegment was called by a system, or before Commit of the last step")
	}
	if j.imageEnd == 0 {
		j.w.ApplyDeferred()
		j.w.markSpawned()
		j.w.separateWrites()
		j.noteImage()
	}
	var calls []byte // if no segment comes before, the image holds what they have changed
	if j.sum != 0 && j.calls.err == nil {
		calls = j.calls.bytes[callsAt:j.imageEnd]
	}
	if size := len(j.setup) + len(calls) + len(notes); size > maxStepBytes && j.calls.err == nil {
		j.calls.fail(fmt.Errorf("%w: the head of a segment of %d bytes; at most %d", ErrFull, size, maxStepBytes))
	}
	if j.calls.err != nil {
		return nil, j.calls.err
	}
	head := JournalHead{
		Run: j.config.Run, Tick: j.w.tick, Mark: j.imageMark, Durable: j.config.Durable, Notes: notes,
		chain: j.sum, setup: j.setup, calls: calls,
	}
	j.head, j.sum = head.append(j.head[:0])
	j.calls.bytes = append(j.calls.bytes[:callsAt], j.calls.bytes[j.imageEnd:]...)
	j.state, j.imageEnd, j.length = journalStepping, 0, int64(len(j.head))
	return j.head, nil
}

// markSectors returns the next frame of the segment as it is in the file.
func (j *Journal) markSectors(b []byte) []byte {
	j.marked = appendMarked(j.marked[:0], b, j.length)
	j.length += int64(len(j.marked))
	return j.marked
}

// append appends the head as the beginning of a segment, and returns its sum.
func (h *JournalHead) append(b []byte) ([]byte, uint64) {
	flags := uint32(0)
	if h.Durable {
		flags = journalDurable
	}
	b = binary.LittleEndian.AppendUint32(append(b, journalMagic...), journalVersion)
	b = binary.LittleEndian.AppendUint32(append(b, make([]byte, headHeaderBytes-8)...), flags)
	for _, v := range []uint64{h.Run, h.Tick, h.Mark, h.chain} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, part := range [][]byte{h.setup, h.calls, h.Notes} {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)-headHeaderBytes))
	binary.LittleEndian.PutUint32(b[12:], uint32(xxhash.Sum64(b[:12])))
	sum := xxhash.Sum64(b)
	return binary.LittleEndian.AppendUint64(b, sum), sum
}

// noteImage separates the calls that an image of the present state contains from those that follow. The caller has
// separated the writes.
func (j *Journal) noteImage() {
	if j.calls.err != nil {
		return
	}
	j.calls.forgetPrograms()
	j.imageMark, j.imageEnd = j.w.mark(), len(j.calls.bytes)
}

// begin starts the frame of the next step.
func (j *Journal) begin() {
	j.calls.bytes = append(j.calls.bytes[:0], make([]byte, callsAt)...)
	j.imageEnd = 0
}

// checkCommitted panics if Step was called in place of another call.
func (j *Journal) checkCommitted() {
	if j.state != journalStepping && j.calls.err == nil {
		panic("world: J2: Step was called before BeginSegment, or before Commit of the last step")
	}
}

// seal completes the frame of a step, except for its notes.
func (j *Journal) seal() {
	if j.calls.err != nil {
		return
	}
	b := j.calls.bytes[frameHeaderBytes:]
	binary.LittleEndian.PutUint64(b, j.w.tick)
	for i, h := range j.w.windowHashes(journalVersion) {
		binary.LittleEndian.PutUint32(b[12+4*i:], h)
	}
	j.calls.noteState()
	j.frame, j.calls.bytes = j.calls.bytes, j.frame
	j.state = journalSealed
	j.begin()
}

// Commit returns the frame of the last Step, with notes of the caller, which the reader of the segment receives with
// the frame. The frame is valid until the next Step. An error ends the journal, and each later Commit returns it: the setup of the world
// changed, the world was restored, or the frame is too long (ErrFull). Commit panics unless it follows a
// Step.
func (j *Journal) Commit(notes []byte) ([]byte, error) {
	if size := len(j.frame) + len(notes); size > maxStepBytes && j.calls.err == nil {
		j.calls.fail(fmt.Errorf("%w: a frame of %d bytes; at most %d", ErrFull, size, maxStepBytes))
	}
	if j.calls.err != nil {
		return nil, j.calls.err
	}
	if j.state != journalSealed {
		panic("world: J2: Commit was called without a Step")
	}
	j.state = journalStepping
	binary.LittleEndian.PutUint32(j.frame[frameHeaderBytes+8:], uint32(len(notes)))
	j.frame = append(append(j.frame, notes...), frameMark)
	length := uint32(len(j.frame) - frameHeaderBytes)
	binary.LittleEndian.PutUint32(j.frame, length)
	binary.LittleEndian.PutUint32(j.frame[4:], lengthCheck(j.sum, length))
	j.sum = chainSum(j.sum, j.frame[frameHeaderBytes:])
	binary.LittleEndian.PutUint64(j.frame[8:], j.sum)
	return j.markSectors(j.frame), nil
}

// chainSum returns the sum of a frame that follows another.
func chainSum(before uint64, body []byte) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(before)
	_, _ = d.Write(body) // never fails
	return d.Sum64()
}

// lengthCheck returns the check of a frame's length.
func lengthCheck(before uint64, length uint32) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], length)
	return uint32(chainSum(before, b[:]))
}

// mark returns a number that names the state between two steps. Runs differ in the first generation, except those
// that have begun from the same image in the same range.
func (w *World) mark() uint64 {
	var state [64]byte
	random, _ := w.pcg.AppendBinary(state[:0]) // the error is always nil
	return markOf(w.tick, w.cfg.FirstGeneration, &w.counts, random)
}

// Mark names the state in the image among all images of a world. A segment that begins with the image has the same.
func (img *Image) Mark() uint64 {
	return markOf(img.tick, img.entities.FirstGeneration, &img.counts, img.random)
}

func markOf(tick uint64, first uint32, c *counts, random []byte) uint64 {
	h := hash(tick).add(uint64(first)).add(c.spawned).add(c.destroyed).add(c.reused).add(c.quarantined)
	return uint64(h.bytes(random))
}
