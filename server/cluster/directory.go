package cluster

import (
	"context"
	"errors"
	"strings"
)

// ReadDirectory describes the cluster of a directory for somebody who is no node: without Node, Margin and Silent, which only a node knows.
// The error joins the records that this program cannot use; the rest is described.
func ReadDirectory(ctx context.Context, s Store) (Status, error) {
	entries, _, err := ReadAll(ctx, s, "")
	if err != nil {
		return Status{}, err
	}
	d := Status{FreeBlocks: Blocks}
	var errs []error
	for _, e := range entries {
		errs = append(errs, d.addRecord(e))
	}
	d.sort()
	return d, errors.Join(errs...)
}

// addRecord adds what a record says.
func (s *Status) addRecord(e Entry) error {
	switch {
	case e.Key == identityKey:
		r, err := parseIdentity(e.Value)
		s.Directory = r.ID
		return err
	case strings.HasPrefix(e.Key, nodePrefix):
		r, err := parseNode(e.Key, e.Value)
		if err == nil {
			s.Nodes = append(s.Nodes, NodeStatus{Name: strings.TrimPrefix(e.Key, nodePrefix), Addrs: r.Addrs, Dead: r.Dead})
		}
		return err
	case strings.HasPrefix(e.Key, roomPrefix):
		r, err := parseRoom(e.Key, e.Value)
		if err == nil && r.State != roomFree {
			s.Rooms = append(s.Rooms, RoomStatus{Name: strings.TrimPrefix(e.Key, roomPrefix), Node: r.Node, Epoch: r.epochAt(e.Revision), Block: r.Block})
		}
		if err == nil && r.Image != nil {
			s.Images = append(s.Images, ImageStatus{strings.TrimPrefix(e.Key, roomPrefix), r.Image})
		}
		return err
	case strings.HasPrefix(e.Key, blockPrefix):
		r, err := parseBlock(e.Key, e.Value)
		if err == nil && r.Room != "" {
			s.FreeBlocks--
		}
		return err
	}
	return nil
}
