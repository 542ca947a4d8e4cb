package bot

import (
	"encoding/binary"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
)

// asker sends pokes and renames, and checks the answers to renames.
type asker struct {
	*core
	renaming   map[uint32]string // unanswered rename -> the name
	nextRename time.Time
	nextPoke   time.Time
	poked      int
}

// endVisit forgets what the next client does not know.
func (a *asker) endVisit() {
	clear(a.renaming)
	a.nextRename = time.Time{}
}

// pokeIfDue sends a poke if the next one is due.
func (a *asker) pokeIfDue(now time.Time) error {
	if a.client.State() != client.Joined || a.config.Scenario == Idle || now.Before(a.nextPoke) || len(a.unanswered) >= maxUnanswered {
		return nil
	}
	a.nextPoke = now.Add(time.Second / pokesPerSecond)
	a.poked++
	h := a.chooseHandle(a.poked)
	if taught := a.oracle.taught.draw(a.rng.IntN); a.poked%8 == 6 && taught != 0 {
		h = taught
	}
	var args []byte
	if m := a.oracle.find(h); m != nil && m.identity != 0 {
		args = pokeArgs(m.identity)
	}
	asked, err := a.client.DoRaw(messages.PokeCommand, h, args)
	if err != nil {
		return err
	}
	a.noteCommand(asked.ID(), h)
	a.oracle.poked.add(h)
	return nil
}

// renameIfDue gives the bot's avatar a new name if a rename is due. It needs the avatar's
// identity.
func (a *asker) renameIfDue(now time.Time) error {
	avatar := a.client.Controlled()
	m := a.oracle.find(avatar)
	if a.config.Scenario == Idle || a.oracle.fate(m) != statusShown || m.identity == 0 || now.Before(a.nextRename) || len(a.unanswered) >= maxUnanswered {
		return nil
	}
	if a.nextRename.IsZero() {
		a.nextRename = now.Add(time.Duration(a.rng.Int64N(int64(firstRename))))
		return nil
	}
	a.nextRename = now.Add(time.Duration((0.5 + a.rng.Float64()) * renameSeconds * float64(time.Second)))
	name := sealedName(a.number, a.oracle.renamed+1, m.identity)
	asked, err := client.Ask(a.client, messages.RenameCommand, 0, messages.Rename{Name: name})
	if err != nil {
		return err
	}
	a.oracle.avatar, a.oracle.renamed = avatar, a.oracle.renamed+1
	a.noteCommand(asked.ID(), 0)
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
		a.oracle.checkRenamed(answer, name, a.oracle.avatar)
	case code != wire.RateLimited:
		a.oracle.reportConfusion(r.Target, 0, "B11: renamed to %q, and the answer is %v: %v", name, code, r.Err)
	}
}

// pokeArgs is the argument of a poke: the identity that the bot expects of its target,
// as a msgpack uint64 (0xcf and 8 bytes, big-endian), for the server to compare.
func pokeArgs(identity uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0xcf}, identity)
}
