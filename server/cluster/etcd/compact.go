package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/cluster"
)

// compactRegularly compacts until the context ends, if no other node does.
func (s *Store) compactRegularly(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var last compaction
	for {
		next, err := s.compactAfter(ctx, last)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Warn("the engine's old revisions were not removed", zap.Error(err))
		case err == nil:
			last = next
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// compaction holds the revisions that a node sees once in a period.
type compaction struct {
	seen     bool
	marker   uint64 // revision of the marker; 0: there is none
	revision uint64 // of the directory
}

// compactAfter compacts up to the revision of a period ago, unless another node has done so since.
func (s *Store) compactAfter(ctx context.Context, last compaction) (compaction, error) {
	e := s.asked()
	marker, revision, err := s.readMarker(ctx, e)
	if err != nil {
		s.leave(e, err)
		return last, err
	}
	now := compaction{seen: true, marker: marker, revision: revision}
	if !last.seen || marker != last.marker {
		return now, nil
	}
	swap := cluster.Swap{Key: ".compacted", Value: fmt.Append(nil, last.revision), Revision: marker}
	now.marker, err = s.swapKeys(ctx, s.prefix, swap)
	switch {
	case errors.Is(err, cluster.ErrConflict):
		return compaction{seen: true, revision: revision}, nil
	case err != nil:
		return last, err
	}
	return now, s.compact(ctx, last.revision)
}

// readMarker returns the revisions of the marker and of the directory.
func (s *Store) readMarker(ctx context.Context, e *endpoint) (marker, revision uint64, err error) {
	var answer rangeAnswer
	if err := s.readPage(ctx, e, rangeRequest{Key: []byte(s.prefix + ".compacted"), Limit: 1}, &answer); err != nil {
		return 0, 0, err
	}
	for _, kv := range answer.KVs {
		marker = kv.ModRevision
	}
	return marker, answer.Header.Revision, nil
}

// compact makes the engine forget the revisions before one. Another node may have done more.
func (s *Store) compact(ctx context.Context, revision uint64) error {
	e := s.asked()
	_, err := s.post(ctx, e, "/v3/kv/compaction", mustMarshal(compactRequest{Revision: revision}))
	err = compactedOr(err)
	if errors.Is(err, cluster.ErrCompacted) {
		return nil
	}
	return err
}
