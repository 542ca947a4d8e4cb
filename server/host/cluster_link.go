package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/cluster/link"
)

// avoidTime is how long clients take their tokens to a node that has not answered: a pass would only make them wait.
const avoidTime = 5 * time.Second

// peerPort serves the other nodes on the port for clients.
func (n *node) peerPort() *server.PeerPort {
	return &server.PeerPort{ALPN: link.ALPN, TLS: n.link.TLS(), Serve: n.link.Serve}
}

// findPeer is link.Config.FindNode.
func (n *node) findPeer(name string) (link.Node, bool) {
	if !n.joined.Load() {
		return link.Node{}, false
	}
	addrs, fingerprint, ok := n.Peer(name)
	return link.Node{Addrs: addrs, Fingerprint: fingerprint}, ok
}

// findHolder is link.Config.FindHolder.
func (n *node) findHolder(fingerprint string) (string, bool) {
	if !n.joined.Load() {
		return "", false
	}
	return n.HolderOf(fingerprint)
}

// findOwner returns another node that has a room, or its newest image while nobody runs it, and the node's address for clients.
func (n *node) findOwner(room string) (name, address string) {
	at, err := n.Find(context.Background(), room)
	switch {
	case err != nil || at.Here:
		return "", ""
	case len(at.Addrs) > 0:
		return at.Node, at.Addrs[0]
	}
	stored, err := n.Node.FindImage(room)
	if err != nil || stored.Image == nil {
		return "", ""
	}
	for _, keeper := range stored.Image.Nodes {
		if addrs, _, ok := n.Peer(keeper); ok {
			return keeper, addrs[0]
		}
	}
	return "", ""
}

// Reaches implements server.Cluster.
func (n *node) Reaches(room string) bool {
	owner, _ := n.findOwner(room)
	if owner == "" {
		return false
	}
	if peer, ok := n.findPeer(owner); !ok || peer.Fingerprint == "" {
		return false
	}
	at, failed := n.failed.Load(owner)
	return !failed || time.Since(at.(time.Time)) > avoidTime
}

// Ask implements server.Cluster.
func (n *node) Ask(ctx context.Context, room string, question []byte) (answer []byte, address string, err error) {
	owner, address := n.findOwner(room)
	if owner == "" {
		return nil, "", &wire.Error{Code: wire.Draining, Detail: "the room's node is not known: connect again"}
	}
	answer, err = n.link.Call(ctx, owner, link.Rooms, question)
	refused := (*link.RefusedError)(nil)
	switch {
	case errors.As(err, &refused):
		return nil, "", &wire.Error{Code: cmp.Or(wire.Code(refused.Code), wire.Internal), Detail: refused.Text}
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // the client has gone
		return nil, "", ctx.Err()
	case err != nil:
		n.failed.Store(owner, time.Now())
		n.log.Warn("another node has not answered", zap.String("node", owner), zap.Error(err))
		return nil, "", &wire.Error{Code: wire.Draining, Detail: "the room's node does not answer: connect again"}
	}
	n.failed.Delete(owner)
	return answer, address, nil
}

// moveRules bound a question about a room that moves, which may have the notes of its sessions.
var moveRules = link.Rules{MaxBody: 64 << 20, Within: 15 * time.Second}

// AskNode implements server.Cluster.
func (n *node) AskNode(ctx context.Context, node string, question []byte) error {
	var err error
	if len(question) <= link.MaxBody { // no copy of an image delays it
		_, err = n.link.Call(ctx, node, link.Moves, question)
	} else {
		err = n.link.Stream(ctx, node, link.Moves, bytes.NewReader(question), io.Discard, 0)
	}
	if refused, ok := errors.AsType[*link.RefusedError](err); ok {
		return &wire.Error{Code: cmp.Or(wire.Code(refused.Code), wire.Internal), Detail: refused.Text}
	}
	return err
}

// AnswerMoves implements server.Cluster.
func (n *node) AnswerMoves(f func(ctx context.Context, question []byte) error) {
	n.link.HandleStream(link.Moves, moveRules, func(ctx context.Context, _ string, body io.Reader, _ io.Writer) error {
		question, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		err = f(ctx, question)
		if e := (*wire.Error)(nil); errors.As(err, &e) {
			return &link.RefusedError{Code: uint16(e.Code), Text: e.Detail}
		}
		return err
	})
}

// Answer implements server.Cluster.
func (n *node) Answer(f func(ctx context.Context, question []byte) (answer []byte, err error)) {
	n.link.Handle(link.Rooms, func(ctx context.Context, _ string, body io.Reader, answer io.Writer) error {
		question, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		b, err := f(ctx, question)
		if e := (*wire.Error)(nil); errors.As(err, &e) && e.Code != wire.Moved {
			return &link.RefusedError{Code: uint16(e.Code), Text: e.Detail}
		}
		if err != nil {
			return err
		}
		_, err = io.Copy(answer, bytes.NewReader(b))
		return err
	})
}

// HostOf implements server.Cluster.
func (n *node) HostOf(room string) (name string) {
	name, _ = n.findOwner(room)
	return name
}

// Send implements server.Cluster.
func (n *node) Send(ctx context.Context, to string, messages []byte) error {
	_, err := n.link.Call(ctx, to, link.Letters, messages)
	return err
}

// Receive implements server.Cluster.
func (n *node) Receive(f func(messages []byte) error) {
	n.link.Handle(link.Letters, func(_ context.Context, _ string, body io.Reader, _ io.Writer) error {
		messages, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		return f(messages)
	})
}
