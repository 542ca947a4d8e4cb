package cluster

import (
	"context"
	"fmt"
)

// maxRead bounds the bytes of the keys and values of a range. Each key counts entryCost more.
const (
	maxRead   = 64 << 20
	entryCost = 256
)

// pages are the pages of a range that have been read, all at the revision of the first.
type pages struct {
	entries  []Entry
	revision uint64
	size     int
}

// rest returns the range that is to be read next.
func (p *pages) rest(prefix string) Range {
	r := Range{Prefix: prefix, Revision: p.revision}
	if len(p.entries) > 0 {
		r.After = p.entries[len(p.entries)-1].Key
	}
	return r
}

func (p *pages) add(entries []Entry, revision uint64) error {
	for _, e := range entries {
		p.size += entryCost + len(e.Key) + len(e.Value)
	}
	if p.size > maxRead {
		return fmt.Errorf("cluster: the directory has more than %d keys, or more than %d bytes: delete what worldd has not written", len(p.entries), maxRead)
	}
	p.entries, p.revision = append(p.entries, entries...), revision
	return nil
}

// ReadAll returns all keys of a store that begin with the prefix, in their order, and the directory's revision.
func ReadAll(ctx context.Context, s Store, prefix string) ([]Entry, uint64, error) {
	var all pages
	for {
		page, err := s.Read(ctx, all.rest(prefix))
		if err == nil {
			err = all.add(page.Entries, page.Revision)
		}
		if err != nil || !page.More {
			return all.entries, all.revision, err
		}
	}
}
