package bots

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// namePrefix begins the user names of bots.
const namePrefix = "bot-"

// sealedName is a bot's name after it has renamed itself. Every bot that sees it can check its
// entity, and the order of revisions: `bot-7 3 0123abcd`.
func sealedName(number, revision int, identity uint64) string {
	name := namePrefix + strconv.Itoa(number)
	return fmt.Sprintf("%s %d %08x", name, revision, nameSeal(name, revision, identity))
}

func nameSeal(name string, revision int, identity uint64) uint32 {
	return crc32.ChecksumIEEE(fmt.Appendf(nil, "%s %d %016x", name, revision, identity))
}

// nameRevision returns the revision of a name of an entity with the given identity. ok is false
// for another bot avatar's name, or a damaged one. known is false for the names of players that
// are not bots: these are not checked.
func nameRevision(name string, identity uint64) (revision int, known, ok bool) {
	if !strings.HasPrefix(name, namePrefix) {
		return 0, false, true
	}
	parts := strings.Split(name, " ")
	if _, err := strconv.ParseUint(strings.TrimPrefix(parts[0], namePrefix), 10, 32); err != nil {
		return 0, true, false
	}
	switch len(parts) {
	case 1:
		return 0, true, true
	case 3:
		revision, err := strconv.Atoi(parts[1])
		return revision, true, err == nil && parts[2] == fmt.Sprintf("%08x", nameSeal(parts[0], revision, identity))
	}
	return 0, true, false
}

// nameMemory holds the name of an avatar as a bot knows it.
type nameMemory struct {
	text      string
	revision  int    // of text; -1: not a bot's
	announced int    // newest revision in an event or an Enter; -1: none
	joined    bool   // the event of the avatar's joining has arrived
	since     uint32 // tick of the newest event; the time limit is known only after the bot has joined
	wanted    int    // the revision that the event announced
	awaited   bool   // it is in hearing.awaited
}

// checkNamed records the name that came with h, in an Enter or later (B7).
func (o *hearing) checkNamed(h bulk.Handle, identity uint64, text string, entered bool) {
	n := o.names[h]
	if n == nil {
		n = &nameMemory{revision: -1, announced: -1}
		o.names[h] = n
	} else if text == n.text && !entered {
		return
	}
	o.Count(names, 1)
	revision, known, ok := nameRevision(text, identity)
	switch {
	case !ok:
		o.Report(h, identity, "B7: is named %q, which is not its name", text)
	case !known:
		revision = -1
	case revision < n.revision:
		o.Report(h, identity, "B7: is named %q after %q", text, n.text)
	case h == o.avatar && revision > o.renamed:
		o.Report(h, identity, "B7: this bot's avatar is named %q, a name that it has not sent", text)
	case !entered && revision > n.announced && !o.mayMissEvents():
		o.Report(h, identity, "B8: was renamed to %q, and no event said so", text)
	}
	n.text, n.revision, n.announced = text, revision, max(n.announced, revision)
}

// heardName records the event at tick that h has a name (B8). The name itself must follow (B7).
func (o *hearing) heardName(tick uint32, h bulk.Handle, text string) {
	o.Count(reliableEvents, 1)
	identity, verdict, _ := o.Recall(h)
	n := o.names[h]
	if verdict != wire.Live || n == nil {
		o.Report(h, 0, "B8: an event names it %q while it is %v", text, verdict)
		return
	}
	revision, known, ok := nameRevision(text, identity)
	if !known {
		return
	}
	switch again := revision <= n.announced && (revision > 0 || n.joined); {
	case !ok:
		o.Report(h, 0, "B8: an event names it %q, which is not its name", text)
		return
	case again:
		o.Report(h, 0, "B8: an event names it %q again, or after a later name, %d", text, n.announced)
		return
	}
	n.joined, n.announced = true, max(n.announced, revision)
	if revision > n.revision {
		n.since, n.wanted = tick, revision
		if !n.awaited {
			n.awaited = true
			o.awaited = append(o.awaited, h)
		}
	}
}

// settleNames checks that the names announced by events have arrived in entities still shown.
func (o *hearing) settleNames() {
	o.awaited = slices.DeleteFunc(o.awaited, func(h bulk.Handle) bool {
		n := o.names[h]
		if n == nil {
			return true
		}
		n.awaited = o.awaitsName(h, n)
		return !n.awaited
	})
}

// awaitsName reports whether the announced name of h has not arrived yet.
func (o *hearing) awaitsName(h bulk.Handle, n *nameMemory) bool {
	_, shown := o.isShown(h)
	switch {
	case n.revision >= n.wanted || !shown:
		return false
	case o.mayMissEvents():
		n.since = o.told
		return true
	case o.told < n.since+o.patience:
		return true
	}
	o.Report(h, 0, "B7: is still named %q, and an event announced revision %d", n.text, n.wanted)
	return false
}
