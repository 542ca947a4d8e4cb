package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Kind names what a request asks for. Each has a Handler on the nodes that know it.
type Kind uint8

// The kinds of requests. Numbers are never used again: nodes of several versions run side by side.
const (
	// Rooms is a question of package server to the node that has a room.
	Rooms Kind = 1
	// PutImage brings a copy of a room's image, and GetImage asks for one.
	PutImage Kind = 2
	GetImage Kind = 3
	// Letters brings messages of rooms for rooms of the other node.
	Letters Kind = 4
	// Moves is a question of package server about a room that is to move to the node.
	Moves Kind = 5
	// PutJournals brings the new bytes of rooms' journals, and GetJournal asks for the copy of a journal.
	PutJournals Kind = 6
	GetJournal  Kind = 7
)

// status begins an answer.
type status = uint8

const (
	statusDone    status = 0
	statusRefused status = 1 // by the handler
	statusUnknown status = 2 // no handler for the kind
)

const (
	// MaxBody bounds the bodies of Call.
	MaxBody = 64 << 10
	// maxRefusal bounds the text of a RefusedError.
	maxRefusal = 1 << 10
)

// A RefusedError is the refusal of a request by the other node's handler. Nothing has been done.
type RefusedError struct {
	Code uint16 // of the handler's own
	Text string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("link: refused (%d): %s", e.Code, e.Text) }

var (
	// ErrNoNode: there is no living node of that name.
	ErrNoNode = errors.New("link: no living node has this name")
	// ErrOlder: the node's program has no link, or does not know the kind of the request.
	ErrOlder = errors.New("link: the node runs an older program, which does not know the request: update it")

	errNonsense = errors.New("link: the node has broken the rules of the link: it may be of another version")
)

// appendRefusal appends the body of a refusal.
func appendRefusal(b []byte, e *RefusedError) []byte {
	b = binary.BigEndian.AppendUint16(b, e.Code)
	text := e.Text[:min(len(e.Text), maxRefusal)]
	for !utf8.ValidString(text) && len(text) > 0 { // cut within a rune
		text = text[:len(text)-1]
	}
	return append(b, text...)
}

// parseRefusal parses what appendRefusal has appended.
func parseRefusal(b []byte) (*RefusedError, error) {
	if len(b) < 2 || len(b) > 2+maxRefusal || !utf8.Valid(b[2:]) {
		return nil, fmt.Errorf("%w: a refusal of %d bytes", errNonsense, len(b))
	}
	return &RefusedError{binary.BigEndian.Uint16(b), string(b[2:])}, nil
}

// readKind reads the first byte of a request.
func readKind(r io.Reader) (Kind, error) {
	var b [1]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, fmt.Errorf("%w: a request without a kind: %w", errNonsense, err)
	}
	return Kind(b[0]), nil
}

// readAnswer reads an answer, and copies its body to w if it is no refusal. most bounds the body.
func readAnswer(r io.Reader, w io.Writer, most int64) error {
	var b [1]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return fmt.Errorf("link: no answer: %w", err)
	}
	switch b[0] {
	case statusDone:
		_, err := io.Copy(w, &boundedReader{r, most})
		return err
	case statusUnknown:
		return ErrOlder
	case statusRefused:
		body, err := io.ReadAll(&boundedReader{r, 2 + maxRefusal})
		if err != nil {
			return err
		}
		refused, err := parseRefusal(body)
		if err != nil {
			return err
		}
		return refused
	}
	return fmt.Errorf("%w: an answer with the status %d", errNonsense, b[0])
}

// boundedReader reads at most so many bytes. More are an error.
type boundedReader struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, fmt.Errorf("%w: a body longer than its kind allows", errNonsense)
	}
	return n, err
}
