package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/worldd/worldd/server/cluster"
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
func (s *Store) Read(ctx context.Context, r cluster.Range) (cluster.Page, error) {
	var failed []error
	for range len(s.endpoints) + 1 { // the only one may have closed an idle connection
		if ctx.Err() != nil {
			break
		}
		e := s.asked()
		page, err := s.readFrom(ctx, e, r)
		if err == nil || errors.Is(err, cluster.ErrCompacted) {
			return page, err
		}
		s.leave(e, err)
		failed = append(failed, err)
	}
	return cluster.Page{}, fmt.Errorf("etcd: nothing was read: %w", errors.Join(append(failed, ctx.Err())...))
}

// readFrom reads a page from one endpoint.
func (s *Store) readFrom(ctx context.Context, e *endpoint, r cluster.Range) (cluster.Page, error) {
	p := page{prefix: s.prefix + "/", below: r.Prefix, after: r.After, revision: r.Revision}
	key, end := rangeOf(p.prefix + p.below)
	if p.after != "" {
		key = append([]byte(p.prefix+p.after), 0)
	}
	var answer rangeAnswer
	request := rangeRequest{Key: key, RangeEnd: end, Limit: pageKeys, Revision: p.revision}
	if err := s.readPage(ctx, e, request, &answer); err != nil {
		return cluster.Page{}, err
	}
	now := answer.Header.Revision
	p.revision = cmp.Or(p.revision, now)
	entries, err := p.entries(answer)
	if err != nil {
		return cluster.Page{}, &Error{e.url, Malformed, err.Error()}
	}
	return cluster.Page{Entries: entries, Revision: p.revision, Now: now, More: answer.More}, nil
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
	if errors.As(err, &problem) && (problem.Detail == alreadyCompacted || problem.Detail == revisionToCome) {
		return fmt.Errorf("%w: %w", cluster.ErrCompacted, err)
	}
	return err
}
