//go:build unix

package restart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/token"
)

// servers are the programs that serve. Each has all options that name files to write. coins keeps no
// journal, so it continues exactly from its images.
var servers = []server{
	{
		program: "worldd", args: []string{"--world=storm", "--image=storm.image", "--record=storm.recording", "--identity=identity.pem"},
		worlds: []savedWorld{{image: "storm.image", recording: "storm.recording"}},
		schema: messages.Schema, identity: requireIdentity, stale: "poke",
		older: []string{"--image-generation=1"}, unsure: []string{"--image-generation=0", "--image-generation=0"},
		inUse: "another server saves to the image", others: `identity\.pem`,
	},
	{
		program: "coins", args: []string{"--image=coins.image", "--journal=off", "--record=coins.recording", "--token-keys=key.pub", "--token-spent=spent"},
		worlds: []savedWorld{{image: "coins.image", recording: "coins.recording"}},
		older:  []string{"--image-generation=1"}, unsure: []string{"--image-generation=1", "--image-generation=2"},
		inUse: "another server has the file of used tokens", rewritten: "spent",
		others: `key\.pub|spent(\.lock|\.worldd-[0-9a-f]{16}\.tmp)?`,
	},
	{
		program: "arena", args: []string{"--image=rooms", "--journal=always", "--record=recordings", "--record-rooms=1", "--image-rooms=1", "--identity=identity.pem"},
		worlds: []savedWorld{
			{room: "arena", image: "rooms/arena.image", recording: "recordings/arena.recording"},
			{room: "lobby", image: "rooms/lobby.image", recording: "recordings/lobby.recording"},
			{room: "arena/7", image: "rooms/arena/7.image", recording: "recordings/arena/7.recording", onDemand: true},
		},
		older: []string{"--image-generation=arena=1", "--image-generation=lobby=1", "--image-generation=arena/7=1"}, unsure: []string{"--image-generation=1"},
		inUse: "in use by another server", others: `identity\.pem|rooms/ended\.arrivals`,
	},
	{
		program: "neighbours", args: []string{"--image=rooms", "--journal=everysec", "--record=recordings", "--record-rooms=2", "--image-rooms=2"},
		worlds: []savedWorld{
			{room: "west", image: "rooms/west.image", recording: "recordings/west.recording"},
			{room: "east", image: "rooms/east.image", recording: "recordings/east.recording"},
		},
		older: []string{"--image-generation=west=1", "--image-generation=east=1"}, unsure: []string{"--image-generation=1"},
		inUse: "in use by another server",
	},
}

// server is a row of the table.
type server struct {
	program  string
	args     []string
	worlds   []savedWorld
	schema   *schema.Schema // of its clients; may be nil
	identity func(*testing.T, *client.Entity)
	stale    string // a command that names handles of earlier runs
	// older are options that select an earlier image. unsure are refused options.
	older, unsure []string
	// inUse is part of the output of a second server in the same folder.
	inUse string
	// others matches the names of other files.
	others string
	// rewritten is a file that each start rewrites with what it has read; "" if there is none.
	rewritten string
}

// savedWorld is a world and its files.
type savedWorld struct {
	room             string // empty if the program has one world
	image, recording string
	onDemand         bool // clients make the room
}

// step is one run of a server, or several.
type step struct {
	does  string
	as    version
	args  []string // of the row for "older" and "unsure"
	visit bool     // a client visits all worlds, and stays until they are saved
	until moment
	by    syscall.Signal // signal that ends the run
	times int            // 0: once
	disk  effect
	// refused is part of the output of a start that must fail with a status and change nothing
	// on disk.
	refused string
	status  int
}

// moment is the moment at which a server is ended.
type moment int

const (
	atOnce      moment = iota
	restoring          // after its first output
	saving             // while an image is being written
	serving            // when clients can connect, and the worlds that run from the start have been saved once
	saved              // also when all worlds that clients visit have been saved since
	savingLast         // when it ends: while its last image is being written
	besideOther        // serving, after a second process was refused
)

// effect is the change that a run makes to the images.
type effect int

const (
	continues effect = iota // saves newer states, as often as it can
	saves                   // saves one newer state, and keeps older generations
	stays                   // saves the unchanged state
	skips                   // sets the newest image aside, and saves a newer state than the previous one
)

const (
	often = "--image-every=1ms"
	never = "--image-every=1h" // except at start and end
)

// life has the steps of each server.
var life = []step{
	{does: "starts for the first time", args: []string{often}, visit: true, until: saved, by: syscall.SIGTERM},
	{does: "is killed at once", args: []string{often}, until: atOnce, by: syscall.SIGKILL, times: 2},
	{does: "is killed while it restores", args: []string{never}, until: restoring, by: syscall.SIGKILL, times: 2, disk: stays},
	{does: "is killed while it saves", args: []string{often}, until: saving, by: syscall.SIGKILL, times: 3},
	{does: "is killed after it has saved", args: []string{often}, visit: true, until: saved, by: syscall.SIGKILL},
	{does: "is killed while it ends", args: []string{often}, visit: true, until: savingLast, by: syscall.SIGKILL, times: 2},
	{does: "is stopped at once", args: []string{never}, until: serving, by: syscall.SIGTERM, disk: saves},
	{does: "is killed after each start", args: []string{never}, until: serving, by: syscall.SIGKILL, times: 5, disk: stays},
	{does: "starts beside another", args: []string{never}, until: besideOther, by: syscall.SIGTERM, disk: saves},
	{does: "has no address", args: []string{"--listen=ADDRESS"}, refused: "address already in use", status: 1},
	{does: "has no address for its operator", args: []string{"--admin=ADDRESS"}, refused: "address already in use", status: 1},
	{does: "has an unknown option", args: []string{"--image-evry=1s"}, refused: "unknown flag --image-evry", status: 2},
	{does: "has a wrong option", args: []string{"--image-every=2h"}, refused: "--image-every is 2h0m0s, want at most 1h", status: 2},
	{does: "has an unclear option", args: []string{"unsure"}, refused: "--image-generation", status: 2},
	{does: "is upgraded, and killed after each start", as: upgraded, args: []string{never}, until: serving, by: syscall.SIGKILL, times: 3, disk: stays},
	{does: "serves as the new version", as: upgraded, args: []string{never}, visit: true, until: serving, by: syscall.SIGTERM, disk: saves},
	{does: "is rolled back strictly", args: []string{"--image-strict"}, refused: `differs from the world: kind "wizard": dropped: no entity was of this kind; component `, status: 1},
	{does: "is rolled back strictly in a loop", args: []string{"--image-strict"}, refused: "nothing was changed: start the program and the world that saved it", status: 1, times: 2},
	{does: "is replaced by another version", as: changed, refused: `component "mana"`, status: 1, times: 2},
	{does: "is rolled back, and killed after each start", args: []string{never}, until: serving, by: syscall.SIGKILL, times: 2, disk: stays},
	{does: "is rolled back", args: []string{never}, visit: true, until: serving, by: syscall.SIGTERM, disk: saves},
	{does: "is upgraded again", as: upgraded, args: []string{never}, visit: true, until: serving, by: syscall.SIGTERM, disk: saves},
	{does: "is rolled back to the image before", args: []string{never, "older"}, visit: true, until: serving, by: syscall.SIGTERM, disk: skips},
	{does: "is rolled back to the image before again", args: []string{never, "older"}, refused: ".skipped exists: start without choosing a generation", status: 1, times: 2},
	{does: "continues", args: []string{often}, visit: true, until: saved, by: syscall.SIGKILL, times: 2},
	{does: "ends", args: []string{never}, visit: true, until: serving, by: syscall.SIGTERM, disk: saves},
}

// installation is a server with its folder, and its clients' knowledge.
type installation struct {
	*testing.T
	server
	programs
	dir    string
	issuer *token.Issuer      // nil: no token is needed
	spent  string             // the token used last
	past   map[string]*memory // by image
	ended  syscall.Signal     // that ended the newest process that has served
	known  *regexp.Regexp     // names of all files that may exist
}

// memory holds the knowledge of clients about a world.
type memory struct {
	epoch uint64
	met   map[bulk.Handle]bool
}

func (i *installation) start(s step) *process {
	return startProcess(i.T, i.command(i.T, i.program, s.as, i.dir, i.flags(s)...))
}

// flags returns the command line of a step.
func (i *installation) flags(s step) []string {
	all := append([]string{"serve", "--listen=127.0.0.1:0"}, i.args...)
	for _, arg := range s.args {
		switch arg {
		case "older":
			all = append(all, i.older...)
		case "unsure":
			all = append(all, i.unsure...)
		default:
			all = append(all, arg)
		}
	}
	return all
}

// do makes a step, once.
func (i *installation) do(s step) {
	before := readDisk(i.T, i.dir)
	if s.refused != "" {
		i.refuse(s, before)
		return
	}
	p := i.start(s)
	switch s.until {
	case atOnce:
	case restoring:
		p.await("says anything", func() bool { return p.screen.String() != "" })
	case saving:
		require.True(i, p.stopWhile("saves", func() bool { return i.isSaving(before) }), "it ended by itself: %s", &p.screen)
	default:
		p.said(`"msg":"serving"`)
		i.requireContinues(p, s, before)
	}
	if s.visit {
		i.visitAll(p, s, before)
	}
	if s.until == besideOther {
		c := i.command(i.T, i.program, s.as, i.dir, i.flags(s)...)
		other := startProcess(i.T, c)
		require.Equal(i, 1, other.wait(), &other.screen)
		require.Contains(i, other.screen.String(), i.inUse)
	}
	if s.until == savingLast {
		require.NoError(i, p.cmd.Process.Signal(syscall.SIGTERM))
		i.killWhileSaving(p, before)
	} else {
		i.requireStatus(p, s)
	}
	i.requireDisk(p, s, before)
	if s.until >= serving { // one that was killed before may not have made a tick
		i.ended = s.by
	}
	if s.until == savingLast { // SIGTERM came before the kill: all that left may be on the disk
		i.ended = syscall.SIGTERM
	}
}

// requireStatus ends the process.
func (i *installation) requireStatus(p *process, s step) {
	status := p.end(s.by)
	if s.by == syscall.SIGTERM {
		require.Zero(i, status, &p.screen)
		require.Contains(i, p.screen.String(), `"msg":"ended"`)
	} else {
		require.Equal(i, -1, status, "it was killed: %s", &p.screen)
	}
}

// isSaving reports whether the first world is being saved now.
func (i *installation) isSaving(before disk) bool {
	image := i.server.worlds[0].image
	found := must.Get(filepath.Glob(filepath.Join(i.dir, image+".*.tmp")))
	return slices.ContainsFunc(found, func(path string) bool {
		_, was := before[filepath.Join(filepath.Dir(image), filepath.Base(path))]
		return !was
	})
}

// killWhileSaving kills a process that ends after it has saved, if it has not ended yet.
func (i *installation) killWhileSaving(p *process, before disk) {
	for {
		select {
		case <-p.ended:
			return
		default:
		}
		if i.isSaving(before) {
			_ = p.cmd.Process.Kill() // it may have ended
			p.wait()
			return
		}
	}
}

// refuse makes a start that must fail and change nothing.
func (i *installation) refuse(s step, before disk) {
	udp := must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	defer udp.Close()
	tcp := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	defer tcp.Close()
	s.args = slices.Clone(s.args)
	for n := range s.args {
		taken := udp.LocalAddr()
		if strings.HasPrefix(s.args[n], "--admin") {
			taken = tcp.Addr()
		}
		s.args[n] = strings.Replace(s.args[n], "ADDRESS", taken.String(), 1)
	}
	p := i.start(s)
	require.Equal(i, s.status, p.wait(), &p.screen)
	require.Contains(i, p.screen.String(), s.refused)
	require.NotContains(i, p.screen.String(), "the room is open")
	after := readDisk(i.T, i.dir)
	delete(before, i.rewritten)
	delete(after, i.rewritten)
	requireSame(i.T, before, after, "a start that fails changes nothing")
}

// requireContinues fails unless the process continues each opened world from its newest valid
// image.
func (i *installation) requireContinues(p *process, s step, before disk) {
	for _, w := range i.server.worlds {
		if !w.onDemand {
			i.requireTick(s, i.wanted(s, before, w), i.restored(p, w), w.image+": the tick that it continues")
		}
	}
}

// requireTick compares a tick with the tick of an image. A journal reaches beyond the image.
func (i *installation) requireTick(s step, image, tick uint64, what string) {
	if slices.Contains(i.args, "--journal=off") || s.disk == skips {
		require.Equal(i, image, tick, what)
	} else {
		require.GreaterOrEqual(i, tick, image, what)
	}
}

// wanted returns the tick of the image from which a step must continue.
func (i *installation) wanted(s step, before disk, w savedWorld) uint64 {
	n := 0
	if s.disk == skips {
		n = 1
	}
	all := before.generations(w.image)
	if len(all) == 0 {
		return 0
	}
	return tickOf(i.T, all[n])
}

// restored returns the tick from which the process continues a world.
func (i *installation) restored(p *process, w savedWorld) uint64 {
	if w.room != "" {
		return number(p.said(`"the room is open","room":"` + w.room + `",.*"tick":(\d+)`))
	}
	found := regexp.MustCompile(`restored from \S+: tick (\d+)`).FindStringSubmatch(p.screen.String())
	if found == nil {
		return 0
	}
	return number(found)
}

// requireDisk compares the folder with its content before a run.
func (i *installation) requireDisk(p *process, s step, before disk) {
	after := readDisk(i.T, i.dir)
	if s.disk == skips {
		require.Contains(i, p.screen.String(), "restored an older image")
	} else {
		require.NotContains(i, p.screen.String(), `"level":"error"`)
	}
	for _, w := range i.server.worlds {
		runs := s.until >= serving && (s.visit || !w.onDemand)
		requireOutlived(i.T, before, after, w.image)
		i.requireGenerations(s, before, after, w, runs)
		i.requireRecordings(p, s, before, after, w, runs)
	}
	for name, f := range before {
		if strings.HasPrefix(name, "key") || strings.HasPrefix(name, "identity") || strings.HasSuffix(name, ".skipped") {
			require.Equal(i, f, after[name], name)
		}
	}
	for name, f := range after {
		require.True(i, f.mode.IsDir() || i.known.MatchString(name), "an unknown file: %s", name)
	}
	for _, name := range after.leftovers() {
		was := before[name] == after[name]
		require.False(i, s.by == syscall.SIGTERM && s.until != savingLast && !was, "%s: a process that ends leaves no temporary file", name)
		first := saving // a server removes temporary images before it saves
		if strings.HasSuffix(name, ".new") || !strings.HasPrefix(name, i.server.worlds[0].image) {
			first = serving // rooms are recorded after their first save, and the others may not have saved yet
		}
		require.False(i, was && s.until >= first && !i.unvisited(s, name), "%s: a process removes those of a process that was killed", name)
	}
}

// unvisited reports whether a file belongs to a world that did not run in a step.
func (i *installation) unvisited(s step, name string) bool {
	return slices.ContainsFunc(i.server.worlds, func(w savedWorld) bool {
		return w.onDemand && !s.visit && (strings.HasPrefix(name, w.image) || strings.HasPrefix(name, w.recording))
	})
}

// requireGenerations compares the generations of an image with those before. runs reports that
// its world has run.
func (i *installation) requireGenerations(s step, before, after disk, w savedWorld, runs bool) {
	what := s.disk
	was, now := before.generations(w.image), after.generations(w.image)
	switch {
	case !runs && w.onDemand:
		require.Equal(i, states(i.T, was), states(i.T, now), "%s: of a room that nobody enters", w.image)
		return
	case what == continues, s.until < serving && slices.Equal(was, now): // it was killed before its first save
		return
	}
	kept, tick := was[1:], tickOf(i.T, was[0])
	old, _ := readImage(i.T, was[0])
	if next, _ := readImage(i.T, now[0]); what == skips {
		tick = tickOf(i.T, was[1])
		require.Equal(i, states(i.T, was[:1]), states(i.T, []string{after[w.image+".skipped"].content}), "%s: the newest one is set aside", w.image)
	} else if old != next && before[w.image] != before[generation(w.image, 1)] { // they are one file if a process was killed between linking and renaming
		kept = was // the last image of the version before stays
	}
	require.Equal(i, states(i.T, kept[:min(len(kept), imagefile.DefaultKeep-1)]), states(i.T, now[1:]), "%s: older generations; before: %v", w.image, states(i.T, was))
	if what == stays {
		i.requireTick(s, tick, tickOf(i.T, now[0]), w.image)
	} else {
		require.GreaterOrEqual(i, tickOf(i.T, now[0]), tick, w.image)
	}
}

// requireRecordings compares the recordings of a world with those before.
func (i *installation) requireRecordings(p *process, s step, before, after disk, w savedWorld, runs bool) {
	was, recorded := before[w.recording]
	now, isThere := after[w.recording]
	if recorded && !isThere { // it was killed between two renames
		require.Contains(i, after, w.recording+".new")
		require.Equal(i, was, after[w.recording+".old-1"], "%s: the recording before", w.recording)
		return
	}
	if now == was {
		require.Equal(i, before[w.recording+".old-1"], after[w.recording+".old-1"], w.recording)
		require.False(i, runs && s.by == syscall.SIGTERM, "%s: it was recorded", w.recording)
		return
	}
	if recorded {
		require.True(i, was == after[w.recording+".old-1"], "%s: the recording before", w.recording)
	}
	args := []string{"replay", w.recording}
	if w.room != "" {
		args = append(args, "--room="+w.room)
	}
	c := i.command(i.T, i.program, s.as, i.dir, args...)
	out, err := c.CombinedOutput()
	require.NoError(i, err, "%s", out)
	found := regexp.MustCompile(`ticks (\d+) to (\d+) replayed, \d+ compared, (state hash \w+)`).FindStringSubmatch(string(out))
	require.NotNil(i, found, "%s", out)
	if s.by == syscall.SIGTERM && s.until != savingLast {
		require.Equal(i, fmt.Sprint(tickOf(i.T, after[w.image].content)), found[2], "%s: where it ends", w.recording)
		if w.room == "" && !s.visit { // a client that leaves after the last tick changes the hash
			require.Contains(i, p.screen.String(), found[3])
		}
	}
	first := i.wanted(s, before, w)
	if w.onDemand { // recorded from its first session on
		require.GreaterOrEqual(i, number(found), first, w.recording)
	} else {
		i.requireTick(s, first, number(found), w.recording+": where it begins")
	}
}

// visitAll visits all worlds. If the process saves often, the clients stay until the images
// contain their last tick.
func (i *installation) visitAll(p *process, s step, before disk) {
	ctx, cancel := context.WithTimeout(i.Context(), soon)
	defer cancel()
	at := p.said(`"msg":"serving","addr":"(\S+?)"`)[1]
	for _, w := range i.server.worlds {
		v := i.visit(ctx, p, at, w)
		if w.onDemand {
			i.requireTick(s, i.wanted(s, before, w), i.restored(p, w), w.image+": the tick that it continues")
		}
		last := v.Replica().Tick()
		v.update(ctx, func() bool {
			if s.until != saved && s.until != savingLast {
				return true
			}
			content, err := os.ReadFile(filepath.Join(i.dir, w.image))
			return err == nil && tickOf(i.T, string(content)) >= uint64(last)
		})
		require.NoError(i, v.Close())
	}
}

// visitor is a client.
type visitor struct {
	*client.Client
	i   *installation
	met map[bulk.Handle]bool
}

// dial joins a world. It dials again while the server is too busy to answer.
func (i *installation) dial(ctx context.Context, addr string, w savedWorld, epoch uint64, token string) (*visitor, error) {
	v := &visitor{i: i, met: map[bulk.Handle]bool{}}
	config := client.Config{
		Addr: addr, InsecureDev: true, Room: w.room, Schema: i.schema, Name: "guest", Epoch: epoch, Token: []byte(token),
		Observer: client.Observer{Enter: func(e *client.Entity) {
			v.met[e.Handle()] = true
			if i.identity != nil {
				i.identity(i.T, e)
			}
		}},
	}
	for {
		var err error
		v.Client, err = client.Dial(ctx, config)
		if err == nil || errors.As(err, new(*wire.Error)) || ctx.Err() != nil {
			return v, err
		}
	}
}

// update updates the client until done.
func (v *visitor) update(ctx context.Context, done func() bool) {
	for !done() {
		require.NoError(v.i, v.Wait(ctx))
		require.NoError(v.i, v.Update())
	}
}

// requireStale sends the command for a handle of an earlier run until it is answered: on a busy machine the
// server may be silent for so long that the client reconnects, which ends its commands unanswered (C5).
func (v *visitor) requireStale(ctx context.Context, h bulk.Handle) {
	err := client.ErrUnanswered
	var r client.Result
	for errors.Is(err, client.ErrUnanswered) {
		v.update(ctx, func() bool { return v.State() == client.Joined })
		r, err = must.Get(v.DoRaw(v.i.stale, h, nil)).Wait(ctx)
	}
	require.Error(v.i, err)
	require.Equal(v.i, wire.Stale, r.Verdict)
}

// visit joins a world, sees some of it, and compares it with what clients of earlier runs have
// seen: their handles name nothing (H5), unless the run continues, which only its journal allows.
func (i *installation) visit(ctx context.Context, p *process, addr string, w savedWorld) *visitor {
	past, continues := i.past[w.image], false
	if past == nil {
		past = &memory{met: map[bulk.Handle]bool{}}
		i.past[w.image] = past
	} else {
		again, err := i.dial(ctx, addr, w, past.epoch, i.token())
		continues = err == nil
		if continues {
			p.said("the run continues")
			require.True(i, i.ended == syscall.SIGTERM || slices.Contains(i.args, "--journal=always"))
			require.NoError(i, again.Close())
		} else {
			require.Equal(i, wire.EpochMismatch, wire.CodeOf(err), "%v", err)
		}
	}
	if i.issuer != nil && i.spent != "" {
		_, err := i.dial(ctx, addr, w, 0, i.spent)
		require.Equal(i, wire.Unauthorized, wire.CodeOf(err), "a token of an earlier run: %v", err)
		require.ErrorContains(i, err, "already used")
	}
	i.spent = i.token()
	v := must.Get(i.dial(ctx, addr, w, 0, i.spent))
	began := v.Replica().Tick()
	v.update(ctx, func() bool { return v.Replica().Tick() > began+20 && len(v.met) > 0 })
	welcome := v.Welcome()
	if continues {
		require.Equal(i, past.epoch, welcome.Epoch)
		maps.Copy(past.met, v.met)
		return v
	}
	asked := 0
	for h := range past.met {
		require.Less(i, h.Generation(), welcome.GenerationFloor)
		require.Equal(i, wire.Stale, v.Resolve(h))
		require.NotContains(i, v.met, h)
		if i.stale != "" && asked < 5 {
			asked++
			v.requireStale(ctx, h)
		}
	}
	require.NotEqual(i, past.epoch, welcome.Epoch)
	past.epoch = welcome.Epoch
	maps.Copy(past.met, v.met)
	return v
}

// token returns a token, or "" if none is needed.
func (i *installation) token() string {
	if i.issuer == nil {
		return ""
	}
	now := time.Now()
	return must.Get(i.issuer.Issue(token.Claims{User: "guest"}, i.program, now, time.Hour))
}

// storm is the world that worldd serves. Reading it compiles its programs, which is slow beside the check of an entity.
var storm = sync.OnceValues(func() (*scenes.File, error) { return scenes.Named("storm") })

// requireIdentity fails unless an entity of storm has the identity of its handle.
func requireIdentity(t *testing.T, e *client.Entity) {
	if v, ok := client.Of(messages.Identities).Get(e); ok {
		require.Equal(t, scenes.IdentityOf(e.Handle(), must.Get(storm()).Seed), v.Number())
	}
}

// testServers: nothing that a server has saved is lost, at whatever moment its process ends,
// and a start that fails changes nothing.
func testServers(t *testing.T, built programs) {
	tests := map[string]func(*testing.T){}
	for _, row := range servers {
		tests[row.program] = func(t *testing.T) {
			i := &installation{T: t, server: row, programs: built, dir: t.TempDir(), past: map[string]*memory{}}
			i.prepare()
			for n, s := range life {
				for time := range max(1, s.times) {
					if !t.Run(fmt.Sprintf("%d, %s, %d", n, s.does, time), func(t *testing.T) {
						i.T = t
						i.do(s)
					}) {
						return
					}
				}
			}
		}
	}
	runAtOnce(t, tests)
}

// prepare makes the files that the server reads.
func (i *installation) prepare() {
	if slices.Contains(i.args, "--token-keys=key.pub") {
		secret, public := token.NewKeys()
		require.NoError(i, os.WriteFile(filepath.Join(i.dir, "key.pub"), []byte(public), 0o600))
		var err error
		i.issuer, err = token.NewIssuer(secret)
		require.NoError(i, err)
	}
	var own []string
	for _, w := range i.server.worlds {
		own = append(own, regexp.QuoteMeta(w.image)+`(\.old-\d|\.lock|\.run|\.skipped|\.kept-[0-9a-f]{8}|\.worldd-[0-9a-f]{16}\.tmp|\.journal-[0-9a-f]{16}-[0-9a-f]{16}(-[1-9][0-9]*)?)?`, regexp.QuoteMeta(w.recording)+`(\.old-1|\.new)?`)
	}
	i.known = regexp.MustCompile(`^(` + strings.Join(own, "|") + `|` + i.others + `)$`)
}
