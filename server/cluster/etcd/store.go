package etcd

import (
	"context"
	"errors"
	"fmt"

	"github.com/worldd/worldd/server/cluster"
)

const (
	maxRead   = 64 << 20 // bytes of the keys and values of one Read,
	entryCost = 256      // with as many for each key
)

// Swap implements cluster.Store (E1).
func (s *Store) Swap(ctx context.Context, swaps ...cluster.Swap) (uint64, error) {
	if err := cluster.CheckSwaps(swaps); err != nil {
		return 0, err
	}
	return s.swapKeys(ctx, s.prefix+"/", swaps...)
}

// swapKeys swaps keys that begin with a prefix. It tries the next endpoint only while nothing was changed.
func (s *Store) swapKeys(ctx context.Context, prefix string, swaps ...cluster.Swap) (uint64, error) {
	body := mustMarshal(requestOf(prefix, swaps))
	var failed []error
	for range s.endpoints {
		if ctx.Err() != nil {
			break
		}
		e := s.asked()
		if err := s.check(ctx, e); err != nil {
			s.leave(e, err)
			failed = append(failed, err)
			continue
		}
		revision, err := s.swapAt(ctx, e, body)
		if err == nil || errors.Is(err, cluster.ErrConflict) {
			return revision, err
		}
		s.leave(e, err)
		switch kindOf(err) {
		case Unreachable, Leaderless:
			failed = append(failed, err)
		case Refused:
			return 0, err
		default:
			return 0, fmt.Errorf("%w: %w", cluster.ErrUnknown, err)
		}
	}
	return 0, fmt.Errorf("etcd: nothing was changed: %w", errors.Join(append(failed, ctx.Err())...))
}

// swapAt sends a swap to one endpoint, once.
func (s *Store) swapAt(ctx context.Context, e *endpoint, body []byte) (uint64, error) {
	reply, err := s.post(ctx, e, "/v3/kv/txn", body)
	if err != nil {
		return 0, err
	}
	var answer txnAnswer
	if err := s.parseAnswer(e, reply, &answer, &answer.Header); err != nil {
		return 0, err
	}
	if !answer.Succeeded {
		return 0, cluster.ErrConflict
	}
	return answer.Header.Revision, nil
}

func requestOf(prefix string, swaps []cluster.Swap) txnRequest {
	var r txnRequest
	for _, swap := range swaps {
		key := []byte(prefix + swap.Key)
		r.Compare = append(r.Compare, compare{Key: key, Target: "MOD", Result: "EQUAL", ModRevision: swap.Revision})
		if swap.Value == nil {
			r.Success = append(r.Success, operation{Delete: &deleteRequest{Key: key}})
		} else {
			r.Success = append(r.Success, operation{Put: &putRequest{Key: key, Value: swap.Value}})
		}
	}
	return r
}

// parseAnswer reads an answer, and wants it to be of this cluster (E4).
func (s *Store) parseAnswer(e *endpoint, body []byte, answer any, h *header) error {
	if err := parse(body, answer); err != nil {
		return &Error{e.url, Malformed, err.Error()}
	}
	return s.checkHeader(e, *h)
}

// Read implements cluster.Store. It begins again at the next endpoint if one fails.
func (s *Store) Read(ctx context.Context, prefix string) ([]cluster.Entry, uint64, error) {
	var failed []error
	for range len(s.endpoints) + 1 { // the only one may have closed an idle connection
		if ctx.Err() != nil {
			break
		}
		e := s.asked()
		entries, revision, err := s.readFrom(ctx, e, prefix)
		if err == nil || errors.Is(err, cluster.ErrCompacted) {
			return entries, revision, err
		}
		s.leave(e, err)
		failed = append(failed, err)
	}
	return nil, 0, fmt.Errorf("etcd: nothing was read: %w", errors.Join(append(failed, ctx.Err())...))
}

// readFrom reads all pages from one endpoint, at one revision.
func (s *Store) readFrom(ctx context.Context, e *endpoint, below string) ([]cluster.Entry, uint64, error) {
	p := page{prefix: s.prefix + "/", below: below}
	var found []cluster.Entry
	size := 0
	key, end := rangeOf(p.prefix + below)
	for {
		var answer rangeAnswer
		request := rangeRequest{Key: key, RangeEnd: end, Limit: pageKeys, Revision: p.revision}
		if err := s.readPage(ctx, e, request, &answer); err != nil {
			return nil, 0, err
		}
		if p.revision == 0 {
			p.revision = answer.Header.Revision
		}
		entries, err := p.entries(answer)
		for _, one := range entries {
			size += entryCost + len(one.Key) + len(one.Value)
		}
		if err == nil && size > maxRead {
			err = fmt.Errorf("%d keys below %.80q are more than %d bytes", len(found)+len(entries), p.prefix+below, maxRead)
		}
		if err != nil {
			return nil, 0, &Error{e.url, Malformed, err.Error()}
		}
		found = append(found, entries...)
		if !answer.More {
			return found, p.revision, nil
		}
		p.after = entries[len(entries)-1].Key
		key = append([]byte(p.prefix+p.after), 0)
	}
}

// readPage sends one request of a Read.
func (s *Store) readPage(ctx context.Context, e *endpoint, request rangeRequest, answer *rangeAnswer) error {
	if err := s.check(ctx, e); err != nil {
		return err
	}
	body, err := s.post(ctx, e, "/v3/kv/range", mustMarshal(request))
	if err != nil {
		return compactedOr(err)
	}
	return s.parseAnswer(e, body, answer, &answer.Header)
}

// compactedOr returns cluster.ErrCompacted if that is why etcd refused, and the error otherwise.
func compactedOr(err error) error {
	var problem *Error
	if errors.As(err, &problem) && problem.Detail == alreadyCompacted {
		return fmt.Errorf("%w: %w", cluster.ErrCompacted, err)
	}
	return err
}
