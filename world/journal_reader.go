package world

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// ErrJournalEnd: a segment has bytes that are not its next frame. Everything before them is valid. If errors.Is also
// finds io.ErrUnexpectedEOF, they are a part of a frame that was not written completely; otherwise a byte was
// changed, or frames are missing, repeated or of another segment.
var ErrJournalEnd = errors.New("world: journal ends early")

// JournalHead is the head of a segment.
type JournalHead struct {
	Run     uint64
	Tick    uint64 // of the image with which the segment begins
	Mark    uint64 // Image.Mark of this image
	Durable bool   // JournalConfig.Durable
	Notes   []byte // passed to BeginSegment

	chain uint64 // sum of the segment before
	setup []byte
	calls []byte // between the last step of the segment before and the image
}

// JournalFrame is the part of a segment that one step has made.
type JournalFrame struct {
	Tick  uint64 // after the step
	Notes []byte // passed to Commit
	// HasCalls reports that something outside the step has changed the world before it, for example a client's command.
	HasCalls bool

	version     uint32 // of the segment
	before, sum uint64 // sums of the frame before it and of this frame
	hashes      []byte
	calls       []byte
}

// JournalReader reads a segment from its beginning to its first byte that is not valid.
type JournalReader struct {
	from    sectorReader
	head    JournalHead
	version uint32
	sum     uint64 // of the head and all frames read
	tick    uint64
	offset  int64
	body    []byte
	err     error
}

// NewJournalReader reads the head of a segment. The error wraps ErrJournalEnd for a damaged head, and
// ErrImageVersion for a segment of a newer version, or is from's error.
func NewJournalReader(from io.Reader) (*JournalReader, error) {
	r := &JournalReader{from: sectorReader{from: bufio.NewReader(from)}}
	if err := r.readHead(); err != nil {
		return nil, err
	}
	return r, nil
}

// Head returns the head of the segment.
func (r *JournalReader) Head() JournalHead { return r.head }

// Offset returns the length of the head and of all frames read, in bytes: a file cut there is a valid segment.
func (r *JournalReader) Offset() int64 { return r.offset }

// Next returns the next frame, which is valid until the next call. It returns io.EOF at the end, an error that wraps
// ErrJournalEnd and names the first byte that is not valid, or from's error. Later calls return the same error.
func (r *JournalReader) Next() (JournalFrame, error) {
	if r.err != nil {
		return JournalFrame{}, r.err
	}
	f, err := r.readFrame()
	r.err = err
	return f, err
}

// end returns the error for bytes at the offset that are not the next frame or the head.
func (r *JournalReader) end(format string, args ...any) error {
	return fmt.Errorf("%w, after tick %d at byte %d: %w", ErrJournalEnd, r.tick, r.offset, fmt.Errorf(format, args...))
}

// readError returns the error for an incomplete frame or head, or the error of the reader.
func (r *JournalReader) readError(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.end("%s is incomplete: %w", what, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("world: journal: reading: %w", err)
}

// fill reads n bytes to the end of b, whose memory grows as they arrive: n may be false.
func (r *JournalReader) fill(b []byte, n uint32) ([]byte, error) {
	for end := len(b) + int(n); len(b) < end; {
		part := min(end-len(b), chunkBytes)
		b = slices.Grow(b, part)[:len(b)+part]
		if _, err := io.ReadFull(&r.from, b[len(b)-part:]); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (r *JournalReader) readHead() error {
	const what = "the head of the segment"
	b, err := r.fill(nil, headHeaderBytes)
	if err != nil {
		return r.readError(err, what)
	}
	version, length := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	switch {
	case uint32(xxhash.Sum64(b[:12])) != binary.LittleEndian.Uint32(b[12:]):
		return r.checkZeros(b)
	case string(b[:4]) != journalMagic:
		return r.end("not a segment: it does not begin with %q", journalMagic)
	case length > maxHeadBytes:
		return r.end("%s has %d bytes; at most %d", what, length, maxHeadBytes)
	case version < 1 || version > journalVersion: // what follows may have another form
		return fmt.Errorf("%w: a segment of version %d; this program reads %d", ErrImageVersion, version, journalVersion)
	}
	b, err = r.fill(b, length+sumBytes)
	if err != nil {
		return r.readError(err, what)
	}
	sumAt := len(b) - sumBytes
	r.sum = binary.LittleEndian.Uint64(b[sumAt:])
	if xxhash.Sum64(b[:sumAt]) != r.sum {
		return r.end("wrong checksum of %s", what)
	}
	if !r.head.decode(b[headHeaderBytes:sumAt]) {
		return r.end("%s has other contents than its length", what)
	}
	r.version, r.tick, r.offset = version, r.head.Tick, r.from.at
	r.from.marked = version > 1
	return nil
}

// decode reads a head with a correct sum. It returns false if the contents do not have its length.
func (h *JournalHead) decode(b []byte) bool {
	if len(b) < 36 {
		return false
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	h.Durable = binary.LittleEndian.Uint32(b)&journalDurable != 0
	h.Run, h.Tick, h.Mark, h.chain = u64(4), u64(12), u64(20), u64(28)
	b = b[36:]
	for _, part := range []*[]byte{&h.setup, &h.calls, &h.Notes} {
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return false
		}
		n := binary.LittleEndian.Uint32(b)
		*part, b = b[4:4+n], b[4+n:]
	}
	return len(b) == 0
}

func (r *JournalReader) readFrame() (f JournalFrame, err error) {
	const what = "the next frame"
	least := uint32(bodyHeaderBytes)
	if r.from.marked {
		least++
	}
	r.from.beginFrame()
	header, err := r.fill(r.body[:0], frameHeaderBytes)
	r.body = header
	switch {
	case errors.Is(err, io.EOF):
		return f, io.EOF
	case err != nil:
		return f, r.readError(err, what)
	}
	length, check := binary.LittleEndian.Uint32(header), binary.LittleEndian.Uint32(header[4:])
	f.version, f.before, f.sum = r.version, r.sum, binary.LittleEndian.Uint64(header[8:])
	if check != lengthCheck(f.before, length) {
		return f, r.checkZeros(header)
	}
	if length < least || length > maxStepBytes {
		return f, r.end("%s has %d bytes; %d to %d are allowed", what, length, least, maxStepBytes)
	}
	r.body, err = r.fill(r.body[:0], length)
	if err == nil {
		err = r.from.endFrame()
	}
	if err != nil {
		return f, r.readError(err, what)
	}
	b := r.body
	switch {
	case r.from.tornAtEnd():
		return f, r.end("%s has sectors that were not written: %w", what, io.ErrUnexpectedEOF)
	case chainSum(f.before, b) != f.sum || r.from.changed || r.from.unwritten:
		return f, r.end("wrong checksum of %s", what)
	}
	if r.from.marked {
		length--
		b = b[:length]
		if r.body[length] != frameMark {
			return f, r.end("%s has no mark at its end", what)
		}
	}
	f.Tick = binary.LittleEndian.Uint64(b)
	notes := binary.LittleEndian.Uint32(b[8:])
	if f.Tick != r.tick+1 || uint64(notes) > uint64(length-bodyHeaderBytes) {
		return f, r.end("%s is of tick %d and has %d bytes of notes", what, f.Tick, notes)
	}
	f.hashes = b[12:bodyHeaderBytes]
	f.calls, f.Notes = b[bodyHeaderBytes:length-notes], b[length-notes:]
	f.HasCalls = len(f.calls) > 0
	r.tick, r.sum, r.offset = f.Tick, f.sum, r.from.at
	return f, nil
}

// checkZeros returns the error for a header that is not the next frame's. A file that was extended, but not written,
// before a crash ends with zeros.
func (r *JournalReader) checkZeros(header []byte) error {
	wrong := r.end("wrong checksum of the length of the head or the next frame")
	var buf [4096]byte
	for rest := header; ; {
		for _, b := range rest {
			if b != 0 {
				return wrong
			}
		}
		if r.from.changed {
			return wrong
		}
		n, err := r.from.Read(buf[:])
		if n == 0 && err != nil {
			return r.readError(err, "the head or the next frame")
		}
		rest = buf[:n]
	}
}
