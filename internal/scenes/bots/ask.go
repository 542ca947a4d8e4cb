package bots

import (
	"encoding/binary"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
)

// asker sends pokes and renames, and checks the answers to renames.
type asker struct {
	*mind
	renaming   map[uint32]string // unanswered rename -> the name
	nextRename time.Time
}

// poke sends a poke of h, with the identity that the bot expects.
func (m *mind) poke(h bulk.Handle, identity uint64) (*client.Future, error) {
	var args []byte
	if identity != 0 {
		args = pokeArgs(identity)
	}
	asked, err := m.client.DoRaw(messages.PokeCommand, h, args)
	if err == nil {
		m.hearing.poked.Add(h)
	}
	return asked, err
}

// pokeArgs is the argument of a poke: the identity that the bot expects of its target,
// as a msgpack uint64 (0xcf and 8 bytes, big-endian), for the server to compare.
func pokeArgs(identity uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0xcf}, identity)
}

const (
	// renameSeconds is the mean interval of a bot's renames. firstRename is the longest time
	// before the first one.
	renameSeconds = 10
	firstRename   = 2 * time.Second
	// maxUnanswered stops a bot from asking an unresponsive server.
	maxUnanswered = 64
)

// countUnanswered returns the number of commands without an answer, besides pokes.
func (m *mind) countUnanswered() int {
	return len(m.asker.renaming) + len(m.combat.shots) + len(m.combat.launches)
}

// renameIfDue gives the bot's avatar a new name if a rename is due. It needs the avatar's
// identity.
func (a *asker) renameIfDue(now time.Time) error {
	avatar := a.client.Controlled()
	identity, verdict, _ := a.Recall(avatar)
	if verdict != wire.Live || identity == 0 || now.Before(a.nextRename) || a.countUnanswered() >= maxUnanswered {
		return nil
	}
	if a.nextRename.IsZero() {
		a.nextRename = now.Add(time.Duration(a.Rand.Int64N(int64(firstRename))))
		return nil
	}
	a.nextRename = a.pauseFrom(now, renameSeconds*time.Second)
	h := &a.hearing
	name := sealedName(a.Number, h.renamed+1, identity)
	asked, err := client.Ask(a.client, messages.RenameCommand, 0, messages.Rename{Name: name})
	if err != nil {
		return err
	}
	h.avatar, h.renamed = avatar, h.renamed+1
	a.renaming[asked.ID()] = name
	return nil
}

// takeResult handles r and returns true if r is the result of a rename.
func (a *asker) takeResult(r client.Result) bool {
	name, ok := a.renaming[r.ID]
	if ok {
		delete(a.renaming, r.ID)
		a.checkRename(r, name)
	}
	return ok
}

// forgetCommand forgets a command that will not be answered.
func (a *asker) forgetCommand(id uint32) { delete(a.renaming, id) }

// checkRename handles the answer to a rename (B11).
func (a *asker) checkRename(r client.Result, name string) {
	answer, ok := r.Answer.(messages.Renamed)
	switch code := wire.CodeOf(r.Err); {
	case ok:
		a.hearing.checkRenamed(answer, name, a.hearing.avatar)
	case code != wire.RateLimited:
		a.Report(r.Target, 0, "B11: renamed to %q, and the answer is %v: %v", name, code, r.Err)
	}
}
