package host

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/cluster"
)

// repair brings copies of images to further nodes, for rooms that nobody runs and that have lacked copies for repairAfter. Rooms that run get copies with
// their next save. Of the nodes that have an image, the first living one does it.
func (c *copies) repair(ctx context.Context, now time.Time) {
	if !c.node.joined.Load() {
		return
	}
	status := c.node.Node.Status()
	running := map[string]bool{}
	for _, r := range status.Rooms {
		running[r.Name] = r.Node != ""
	}
	lacking := map[string]time.Time{}
	for _, few := range status.FewCopies(c.wanted + 1) {
		if running[few.Room] || !c.repairs(few) {
			continue
		}
		since, known := c.lacking[few.Room]
		if !known {
			since = now
		}
		lacking[few.Room] = since
		if now.Sub(since) >= repairAfter && ctx.Err() == nil {
			c.addCopies(ctx, few.Room, server.RoomImage(*few.Image))
		}
	}
	c.lacking = lacking
}

// repairs reports whether this node is the first living one of those that have an image.
func (c *copies) repairs(i cluster.ImageStatus) bool {
	own, _ := c.node.Identity()
	for _, name := range i.Nodes {
		if name == own {
			return c.folder.Has(i.Room, i.Name())
		}
		if _, alive := c.node.findPeer(name); alive {
			return false
		}
	}
	return false
}

// addCopies brings an image and its journal to as many nodes as lack, and makes the directory name them. Nodes that are gone stay named: they may come back.
func (c *copies) addCopies(ctx context.Context, room string, image server.RoomImage) {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	own, _ := c.node.Identity()
	var gone, have []string
	for _, name := range image.Nodes {
		if _, alive := c.node.findPeer(name); alive || name == own {
			have = append(have, name)
		} else {
			gone = append(gone, name)
		}
	}
	others := slices.DeleteFunc(c.candidates(room), func(name string) bool { return slices.Contains(have, name) })
	added := c.spread(ctx, room, image, others, c.wanted+1-len(have))
	if len(added) == 0 {
		return
	}
	for _, name := range added {
		if err := c.sendJournal(ctx, name, room, image); err != nil {
			c.node.log.Warn("another node has no copy of a journal", zap.String("node", name), zap.String("room", room), zap.Error(err))
		}
	}
	named := cluster.Image(image)
	named.Nodes = slices.Concat(gone, have, added)
	if err := cluster.NameCopies(ctx, c.directory, room, &named); err != nil {
		c.node.log.Warn("the directory does not name new copies of an image", zap.String("room", room), zap.Error(err))
		return
	}
	c.node.log.Info("further nodes have a copy of an image", zap.String("room", room), zap.Strings("nodes", added))
}
