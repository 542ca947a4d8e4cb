package etcd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/worldd/worldd/server/cluster"
)

// errSilent ends a stream that has sent no whole message for too long.
var errSilent = errors.New("the watch is silent")

// Watch implements cluster.Store. A stream without messages is replaced by one of the next endpoint (E2): the member may
// have lost the others.
func (s *Store) Watch(ctx context.Context, prefix string, from uint64, f func(cluster.Entry)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		w := &watch{store: s, endpoint: s.asked(), below: prefix, from: from, f: f}
		err := w.follow(ctx)
		from = w.from
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		if errors.Is(err, cluster.ErrCompacted) {
			return err
		}
		s.leave(w.endpoint, err)
		if !w.created || !errors.Is(err, errSilent) {
			return err
		}
	}
}

// watch is one stream of a Watch.
type watch struct {
	store    *Store
	endpoint *endpoint
	below    string
	f        func(cluster.Entry)
	from     uint64 // revision of the last entry that f has
	created  bool
}

// follow reads the stream until it ends, fails or is silent.
func (w *watch) follow(ctx context.Context) error {
	s := w.store
	if err := s.check(ctx, w.endpoint); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(s.timeout, func() { cancel(errSilent) })
	defer silence.Stop()
	key, end := rangeOf(s.prefix + "/" + w.below)
	request := watchRequest{watchCreate{Key: key, RangeEnd: end, StartRevision: w.from + 1, ProgressNotify: true}}
	response, err := send(ctx, s.watches, w.endpoint, "/v3/watch", mustMarshal(request))
	if err != nil {
		return causeOr(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReaderSize(response.Body, 64<<10)
	for {
		line, err := readLine(lines)
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			// Another watch from here would receive the same.
			return fmt.Errorf("%w: %w", cluster.ErrCompacted, &Error{w.endpoint.url, Malformed, fmt.Sprintf("a message of more than %d bytes", maxAnswer)})
		case err != nil:
			return causeOr(ctx, &Error{w.endpoint.url, Lost, "the watch ended: " + err.Error()})
		case response.StatusCode != http.StatusOK:
			return errorOf(w.endpoint, response.StatusCode, line)
		}
		if err := w.take(ctx, line); err != nil {
			return err
		}
		silence.Reset(s.silence)
	}
}

// causeOr returns errSilent if it ended the context, and the error otherwise.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// readLine returns the next line, or the rest before the end. The slice is valid until the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return wholeLine(line, err)
	}
	var long []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long)+len(line) > maxAnswer {
			return nil, bufio.ErrTooLong
		}
		long = append(long, line...)
		line, err = r.ReadSlice('\n')
	}
	return wholeLine(append(long, line...), err)
}

func wholeLine(line []byte, err error) ([]byte, error) {
	if errors.Is(err, io.EOF) && len(line) > 0 {
		return line, nil
	}
	return line, err
}

// take applies one message.
func (w *watch) take(ctx context.Context, line []byte) error {
	result, refused, err := parseWatch(line)
	switch {
	case err != nil:
		return &Error{w.endpoint.url, Malformed, err.Error()}
	case refused != nil:
		return refused.as(w.endpoint)
	}
	if err := w.store.checkCluster(w.endpoint, result.Header.ClusterID); err != nil {
		return err
	}
	switch {
	case result.CompactRevision != 0:
		return cluster.ErrCompacted
	case result.Canceled:
		return &Error{w.endpoint.url, Undecided, fmt.Sprintf("the watch was cancelled: %.200s", result.CancelReason)}
	case result.Created:
		w.created = true
		if err := w.wantRevision(ctx, result.Header.Revision); err != nil {
			return err
		}
	}
	entries, err := changes(result.Events, w.store.prefix+"/", w.below, w.from)
	if err != nil {
		return &Error{w.endpoint.url, Malformed, err.Error()}
	}
	for _, e := range entries {
		if e.Revision != w.from && ctx.Err() != nil {
			return ctx.Err() // between two swaps, never within one
		}
		w.from = e.Revision
		w.f(e)
	}
	return nil
}

// wantRevision wants the directory to have reached the watch's revision. This member may be behind the others: a read asks
// them all.
func (w *watch) wantRevision(ctx context.Context, member uint64) error {
	if member >= w.from {
		return nil
	}
	_, revision, err := w.store.readMarker(ctx, w.endpoint)
	switch {
	case err != nil:
		return err
	case revision < w.from:
		return fmt.Errorf("%w: the engine is at revision %d, before %d: it has lost its data", cluster.ErrCompacted, revision, w.from)
	}
	return nil
}
