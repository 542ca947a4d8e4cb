package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/worldd/worldd/replication/wire"
)

// maxListPages bounds the pages that Rooms reads: the server answers as many on one connection.
const maxListPages = 8

// Rooms returns the listed rooms of a server that suit query, by name, without a session. The list may be a second old. query is a
// wire.RoomQuery like "match?mode=ranked"; "match?" is for all rooms of a kind, and "" for all
// rooms. Rooms of more than 128 KiB of text are cut. Join one by Config.Room, or let the server choose: Config.Room takes the same query.
//
// Rooms uses Addr, Addrs, Port, Socket and the fields about certificates of c, and a connection of its own, which the server limits as it
// limits all connections of an address: call it every few seconds. The error is like the error of Dial.
func Rooms(ctx context.Context, c Config, query string) ([]wire.RoomInfo, error) {
	_, err := wire.ParseRoomQuery(query)
	if err = errors.Join(c.Validate(), err); err != nil {
		return nil, fmt.Errorf("client: rooms: %w", err)
	}
	t, err := c.tlsConfig()
	if err != nil {
		return nil, err
	}
	first, err := openFirst(ctx, newAddresses(c).all, func(ctx context.Context, address string) (*connection, error) {
		at := c
		at.Addr = address
		return openConnection(ctx, at, t, c.newClock(), fallbackDelay)
	})
	if err != nil {
		return nil, err
	}
	reader := listReader{link: first.link}
	all, err := reader.readPages(ctx, query)
	return all, errors.Join(err, first.link.Close(wire.OK, nil))
}

// listReader reads lists of rooms from a connection without a session.
type listReader struct {
	link    *connection
	frames  wire.FrameReader
	arrived Arrivals
}

// readPages asks for each page after the one before.
func (l *listReader) readPages(ctx context.Context, query string) (all []wire.RoomInfo, err error) {
	after := ""
	for range maxListPages {
		if err := l.link.SendStream(wire.AppendMessage(nil, wire.ListRooms{Query: query, After: after})); err != nil {
			return nil, err
		}
		list, err := l.readList(ctx)
		if err != nil {
			return nil, err
		}
		page, err := list.Infos()
		switch {
		case err != nil:
			return nil, err
		case len(page) > 0 && page[0].Name <= after:
			return nil, protocolError("a list of rooms from %q after %q", page[0].Name, after)
		}
		all = append(all, page...)
		if list.More == 0 {
			break
		}
		after = page[len(page)-1].Name
	}
	return all, nil
}

// readList waits for the next list.
func (l *listReader) readList(ctx context.Context) (list wire.RoomList, err error) {
	for {
		kind, body, ok, err := l.frames.Next()
		switch {
		case err != nil:
			return list, err
		case ok && kind == wire.TypeRoomList:
			return wire.Parse[wire.RoomList](body)
		case ok && kind == wire.TypeRefused:
			refused, err := wire.Parse[wire.Refused](body)
			if err == nil {
				err = &wire.Error{Code: refused.Code, Detail: refused.Text}
			}
			return list, err
		case ok:
			return list, protocolError("message type %d in place of a list of rooms", kind)
		}
		select {
		case <-l.link.wakeChannel(true):
		case <-ctx.Done():
			return list, ctx.Err()
		}
		l.arrived = l.link.Receive(l.arrived)
		l.frames.Feed(l.arrived.Stream)
		if l.arrived.Err != nil && len(l.arrived.Stream) == 0 {
			return list, explainClose(l.arrived.Err)
		}
	}
}
