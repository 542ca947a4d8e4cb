package cluster

import (
	"fmt"
	"time"
)

// follower waits until the whereabouts of a room change.
type follower struct {
	known   string
	changed chan struct{}
}

// Changed returns a channel that is closed when what Find and FindImage tell of a room has changed, but for Location.Silent: another node has
// taken the room, released it, ended or begun again, or its newest image is another one. It asks the directory for nothing.
func (n *Node) Changed(room string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.followers[room]
	if f == nil {
		f = &follower{n.whereabouts(room), make(chan struct{})}
		n.followers[room] = f
	}
	return f.changed
}

// whereabouts describes what is known of a room.
func (n *Node) whereabouts(room string) string {
	at, err := n.locate(room)
	image, noImage := n.locateImage(room)
	at.Silent = time.Duration(0)
	return fmt.Sprint(at, err, image.Addrs, image.Image != nil && image.Image.Any, noImage)
}

// tellFollowers closes the channels of rooms whose whereabouts have changed.
func (n *Node) tellFollowers() {
	for room, f := range n.followers {
		if n.whereabouts(room) != f.known {
			close(f.changed)
			delete(n.followers, room)
		}
	}
}
