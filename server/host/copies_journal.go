package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/cluster/link"
	"github.com/worldd/worldd/server/imagefile"
)

const (
	// journalTimeout bounds a transfer of journals, and maxJournalBatch the parts in it. The next transfer has the rest.
	journalTimeout  = 2 * time.Second
	maxJournalBatch = 16 << 20
	// maxJournal bounds the journal that is read from another node.
	maxJournal = 2 * imagefile.MaxSegmentCopy
	// maxAnswerLine bounds a line of the answer to PutJournals: the length of a copy.
	maxAnswerLine = 24
)

// journalRules bound transfers of journals.
var journalRules = link.Rules{MaxBody: 2 * maxJournalBatch, Within: journalTimeout}

// partHead begins a part of a journal in a transfer, as a line of JSON. The bytes follow.
type partHead struct {
	Room string `json:"room"`
	imagefile.SegmentCopy
	At    int64 `json:"at"` // of the segment
	Bytes int64 `json:"bytes"`
}

func (h *partHead) check() error {
	if _, _, err := server.ParseRoomName(h.Room); err != nil {
		return err
	}
	if h.Nth < 0 || h.At < 0 || h.Bytes < 0 || h.At > imagefile.MaxSegmentCopy || h.Bytes > imagefile.MaxSegmentCopy-h.At {
		return fmt.Errorf("%d bytes at %d of segment %d: a copy has %d at most", h.Bytes, h.At, h.Nth, int64(imagefile.MaxSegmentCopy))
	}
	return nil
}

// appendPart appends a part of a journal.
func appendPart(to *bytes.Buffer, h partHead, content []byte) {
	h.Bytes = int64(len(content))
	line, err := json.Marshal(h)
	if err != nil {
		panic(err) // it has texts and numbers only
	}
	to.Write(line)
	to.WriteByte('\n')
	to.Write(content)
}

// readPart reads the next part of a journal, or returns io.EOF.
func readPart(from *bufio.Reader) (h partHead, content []byte, err error) {
	line, err := from.ReadSlice('\n')
	if len(line) == 0 && errors.Is(err, io.EOF) {
		return h, nil, io.EOF
	}
	if err == nil {
		err = json.Unmarshal(line, &h)
	}
	if err == nil {
		err = h.check()
	}
	if err == nil {
		content, err = io.ReadAll(io.LimitReader(from, h.Bytes))
	}
	if err == nil && int64(len(content)) < h.Bytes {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return h, nil, &link.RefusedError{Text: fmt.Sprint("not a part of a journal: ", err)}
	}
	return h, content, nil
}

// journalFeed brings another node the copies of journals.
type journalFeed struct {
	journals []server.RoomJournal
	lengths  map[segmentOf]int64 // of the other node's copies
	failed   time.Time           // of the newest transfer; zero: it has not failed
}

type segmentOf struct {
	room string
	imagefile.SegmentCopy
}

// PutJournals implements server.ImageCopies. Only one goroutine calls it. A node that does not answer is left alone for avoidTime, so that it does
// not delay the copies of the others.
func (c *copies) PutJournals(ctx context.Context, journals []server.RoomJournal) error {
	feeds := map[string]*journalFeed{}
	for _, j := range journals {
		for _, name := range j.Image.Nodes {
			if peer, ok := c.node.findPeer(name); !ok || peer.Fingerprint == "" {
				continue
			}
			if feeds[name] == nil {
				feeds[name] = &journalFeed{}
				if was := c.feeds[name]; was != nil {
					feeds[name].lengths, feeds[name].failed = was.lengths, was.failed
				}
			}
			feeds[name].journals = append(feeds[name].journals, j)
		}
	}
	c.feeds = feeds
	results := make(chan error, len(feeds))
	for name, feed := range feeds {
		go func() { results <- feed.send(ctx, c.node.link, name) }()
	}
	var errs []error
	for range feeds {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

// send brings the node the new bytes of the journals, as many as a batch holds.
func (f *journalFeed) send(ctx context.Context, l *link.Link, node string) (err error) {
	if time.Since(f.failed) < avoidTime {
		return fmt.Errorf("node %s has not answered lately", node)
	}
	batch, sent, lengths, err := f.nextBatch()
	if err != nil {
		return err
	}
	f.lengths, f.failed = lengths, time.Time{}
	if len(sent) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, journalTimeout)
	defer cancel()
	var answer bytes.Buffer
	if err = l.Stream(ctx, node, link.PutJournals, batch, &answer, int64(len(sent)*maxAnswerLine)); err == nil {
		err = f.noteLengths(sent, &answer)
	}
	if err != nil {
		f.failed = time.Now()
		return fmt.Errorf("node %s: %w", node, err)
	}
	return nil
}

// nextBatch returns the next parts to send, of which segments they are, and the lengths of the copies that are still needed.
func (f *journalFeed) nextBatch() (batch *bytes.Buffer, sent []segmentOf, lengths map[segmentOf]int64, err error) {
	batch, lengths = &bytes.Buffer{}, map[segmentOf]int64{}
	for _, j := range f.journals {
		for _, part := range j.Segments {
			key := segmentOf{j.Room, part.SegmentCopy}
			at := f.lengths[key]
			lengths[key] = at
			if batch.Len() > maxJournalBatch {
				continue
			}
			content, err := part.Read(at)
			if err != nil {
				return nil, nil, nil, err
			}
			if len(content) > 0 {
				appendPart(batch, partHead{Room: j.Room, SegmentCopy: part.SegmentCopy, At: at}, content)
				sent = append(sent, key)
			}
		}
	}
	return batch, sent, lengths, nil
}

// noteLengths notes how long the copies are.
func (f *journalFeed) noteLengths(sent []segmentOf, answer *bytes.Buffer) error {
	for _, key := range sent {
		var n int64
		if _, err := fmt.Fscanln(answer, &n); err != nil || n < 0 {
			return fmt.Errorf("an answer that does not say how long the copies are: %w", err)
		}
		f.lengths[key] = n
	}
	return nil
}

// sendJournal sends another node this node's copy of the journal of a room that nobody runs.
func (c *copies) sendJournal(ctx context.Context, node, room string, image server.RoomImage) error {
	copied, err := c.folder.ReadSegments(room, image.IsOld)
	if err != nil || len(copied) == 0 {
		return err
	}
	var batch bytes.Buffer
	for _, segment := range copied {
		appendPart(&batch, partHead{Room: room, SegmentCopy: segment.SegmentCopy}, segment.Content)
	}
	return c.node.link.Stream(ctx, node, link.PutJournals, &batch, io.Discard, int64(len(copied)*maxAnswerLine))
}

// receiveJournals appends to the copies of journals for another node.
func (c *copies) receiveJournals(_ context.Context, _ string, body io.Reader, answer io.Writer) error {
	from := bufio.NewReaderSize(body, maxCopyHead)
	var lengths bytes.Buffer
	for {
		h, content, err := readPart(from)
		if errors.Is(err, io.EOF) {
			_, err = answer.Write(lengths.Bytes())
			return err
		}
		if err != nil {
			return err
		}
		n, err := c.folder.AppendSegment(h.Room, h.SegmentCopy, h.At, content)
		if err != nil {
			return &link.RefusedError{Text: err.Error()} // such as a full disk
		}
		fmt.Fprintln(&lengths, n)
	}
}

// serveJournal sends the copy of a journal to another node.
func (c *copies) serveJournal(_ context.Context, _ string, body io.Reader, answer io.Writer) error {
	h, err := readHead(bufio.NewReaderSize(body, maxCopyHead))
	if err != nil {
		return err
	}
	parts, err := c.folder.ReadSegments(h.Room, (*server.RoomImage)(&h.Image).IsOld)
	if err != nil {
		return &link.RefusedError{Text: err.Error()}
	}
	var b bytes.Buffer
	for _, part := range parts {
		b.Reset()
		appendPart(&b, partHead{Room: h.Room, SegmentCopy: part.SegmentCopy}, part.Content)
		if _, err := b.WriteTo(answer); err != nil {
			return err
		}
	}
	return nil
}

// ReadJournal implements server.ImageCopies. The copy is this node's, or another's that lives and has the image.
func (c *copies) ReadJournal(room string, image server.RoomImage) (parts []imagefile.CopiedSegment, err error) {
	parts, err = c.folder.ReadSegments(room, image.IsOld)
	for _, name := range image.Nodes {
		if len(parts) > 0 {
			return parts, nil
		}
		if peer, ok := c.node.findPeer(name); ok && peer.Fingerprint != "" {
			var failed error
			parts, failed = c.fetchJournal(name, room, image)
			err = errors.Join(err, failed)
		}
	}
	return parts, err
}

func (c *copies) fetchJournal(node, room string, image server.RoomImage) (parts []imagefile.CopiedSegment, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), journalTimeout)
	defer cancel()
	var answer bytes.Buffer
	if err := c.node.link.Stream(ctx, node, link.GetJournal, headOf(room, image), &answer, maxJournal); err != nil {
		return nil, fmt.Errorf("node %s: %w", node, err)
	}
	for from := bufio.NewReaderSize(&answer, maxCopyHead); ; {
		h, content, err := readPart(from)
		switch {
		case errors.Is(err, io.EOF):
			return parts, nil
		case err == nil && h.Room != room:
			err = fmt.Errorf("the journal of room %s instead of %s", h.Room, room)
		}
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", node, err)
		}
		parts = append(parts, imagefile.CopiedSegment{SegmentCopy: h.SegmentCopy, Content: content})
	}
}
