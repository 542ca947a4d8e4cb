package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// RoomsConfig configures a server of many rooms, each with its own world. A room's name is its
// kind, or the kind and an id: "lobby", "match/17". Zero fields take their defaults.
type RoomsConfig struct {
	// Kinds are the kinds of rooms by name. A name has lower-case letters, digits and hyphens,
	// at most 32 bytes. Required.
	Kinds map[string]RoomKind
	// Default is the room for clients that name none, with tokens that name none. If empty,
	// such clients are refused with NoRoom.
	Default string
	// MaxRooms bounds the rooms at any time. Default 128. At the bound, a room that has been
	// idle for 6 s ends in favour of the next one, unless it is pinned, created by the
	// operator, or of a kind with a negative IdleAfter.
	MaxRooms int
	// MaxSessions bounds the sessions of all rooms. Default 1,024.
	MaxSessions int
	// Images configures saving the rooms' worlds. The zero value saves nothing.
	Images RoomImages
	// Carry returns a Session.Value, or an Admission.Value, as bytes of at most 32 KiB, for another node of Config.Cluster, where Arrive makes
	// the Value of them. They are called for values other than nil, by any goroutine, also by the goroutine of a world, so they must not wait. An error
	// refuses the move, or the client. The pass has the Value of its issue. With Config.OneSessionPerUser it is void once its user begins
	// another session on either node. A session on a third node does not void it: a version of the Value in your database can tell
	// that it is old. If nil, a session with a Value moves to no room of another node, and clients
	// that ask for one take their tokens there.
	Carry  func(value any) ([]byte, error)
	Arrive func(carried []byte) (any, error)
	// Depart saves the data of a player that moves to a room of another node, after Leave and before Join there: Admit may read them there
	// later. It runs on a goroutine of its own, for at most 5 s, and may wait. An error returns the session to its room: Join, then
	// MoveRefused. Default none.
	Depart func(context.Context, Traveller) error
	// FilesPerRoom is how many files the game of a room keeps open. The server warns at the
	// start if the system allows fewer.
	FilesPerRoom int
}

// RoomImages configures saving the worlds of rooms, in the files DIR/KIND.image and
// DIR/KIND/ID.image. The first image of a room follows its first session, unless the room is
// pinned or created by the operator.
type RoomImages struct {
	// Dir is an existing folder. If empty, no room is saved.
	Dir string
	// Every is the interval between saves of one room, at most 1 h. Default 30 s.
	Every time.Duration
	// Journal writes the ticks between two saves: see ImageConfig.Journal.
	Journal imagefile.JournalMode
	// Keep is the number of files that hold a room's image, the newest and older ones: see
	// package imagefile.
	Keep int
	// PruneAfter is the age at which the image of a room with an id is removed, counted from
	// the last session in the room; at least 1 h. The server looks for such images at the start
	// and once an hour, and never removes the image of an existing room. 0: an image is removed
	// only if RoomKind.MaxImages or MaxBytes leaves no space for a new room, and no session has
	// entered its room for 30 days. Negative: never.
	PruneAfter time.Duration
	// Shared is an existing folder in which all nodes of a cluster find the rooms' newest images (Config.Cluster), for example of a file
	// server. Dir is each node's own. If empty, a room that was saved runs on the node that has its image.
	Shared string
	// Copies keeps the newest images where other nodes find them, instead of Shared. nil: nowhere.
	Copies ImageCopies
	// MaxBytes bounds the images of all rooms with ids, older ones included, when a new room is
	// made. It is no quota: images of existing rooms may grow. 0: no limit.
	MaxBytes int64
	// Older names rooms whose first run begins from an older image, by its number in
	// imagefile.Store.LoadGeneration: for an operator who wants to return to an older state.
	Older map[string]int
	// Strict refuses the image of a world that was set up differently, by another version of the game.
	// Otherwise it is mapped: see world.World.ReadImage. The log names what has changed.
	Strict bool
}

// RoomKind describes the rooms of one kind. They have the same schema.
type RoomKind struct {
	// New makes the world and the rules of a room. It runs on its own goroutine, for at most
	// two rooms of the kind at a time, so it must be safe for concurrent use. A panic in it
	// counts as an error. An error refuses the waiting clients: with its code if it is a
	// *wire.Error, and with Internal otherwise. Required.
	New func(RoomRequest) (*RoomGame, error)
	// Create tells which clients may create a room by naming it. Default ForAnyone.
	Create RoomCreation
	// Visibility is the visibility of a room until Room.SetListing changes it. Default Unlisted.
	Visibility Visibility
	// Choose chooses a room for a client that joins any room that suits a query (wire.RoomQuery), or a session that moves to one
	// (Session.Move). It returns the name of a room in RoomSeek.Rooms, or "" for a new room, or the error that refuses the client: a
	// *wire.Error with its own code, any other with JoinRefused. It runs for one seeker of the kind at a time, while the others wait, on
	// any goroutine, and must neither wait nor call the server. It may be called again if the room fills meanwhile.
	// Default: the fullest room with a free place, or a new room.
	Choose func(RoomSeek) (room string, err error)
	// MaxRooms bounds the rooms of the kind. 0: only RoomsConfig.MaxRooms bounds them.
	MaxRooms int
	// MaxSessions bounds the sessions of one room. 0: the game's bound applies.
	MaxSessions int
	// IdleAfter is how long a room stays open without sessions and without calls of Room.Do and
	// Server.Signal, at least 1 s. Sessions that are away count. Default 1 min. If negative, rooms do not end by themselves.
	IdleAfter time.Duration
	// Pinned creates the room KIND, without an id, at the start, and keeps it open when idle.
	Pinned bool
	// Unsaved excludes rooms of the kind from RoomsConfig.Images: each begins with a new world.
	Unsaved bool
	// MaxImages bounds the stored images of the kind, plus open rooms without an image. At the
	// bound, RoomImages.PruneAfter decides whether one is removed for a new room. If not, only
	// the operator can create a room that has no image yet: clients are refused with
	// ServerFull. One address may create half of the images that are left, but at least one.
	// Default 1,000.
	MaxImages int
}

// RoomCreation tells which clients may create a room by naming it.
type RoomCreation uint8

// The operator, and the game by Session.Move, may create rooms of every kind. After a restart, so may a client that asks for
// its session in a room whose journal has the run.
const (
	ForAnyone RoomCreation = iota // any client that names it
	ForTokens                     // clients whose token names it
	ForGame                       // no client
)

// RoomRequest describes the room that RoomKind.New is to make.
type RoomRequest struct {
	// Name is the room's name, KIND or KIND/ID, valid by ParseRoomName.
	Name, Kind, ID string
	// Attributes are of the query for which the room is made; nil otherwise. A client that may create rooms
	// chooses them: return an error if the game does not know them.
	Attributes map[string]string
	// Generations is the range of generations to pass to world.Config.
	Generations Generations
}

// Generations is the range of generations of a room's handles: FirstGeneration and
// LastGeneration of world.Config. The rooms of one process have disjoint ranges, so a handle of
// one room is Stale in every other.
type Generations struct{ First, Last uint32 }

// RoomGame is the world of a room, and its rules.
type RoomGame struct {
	WorldConfig
	// Attach receives the room before its first tick.
	Attach func(*Room)
	// Reload reads the room's limits again, for Server.ReloadRooms: its MaxSessions, which
	// RoomKind.MaxSessions overrides, and its BudgetBytesPerSecond. It runs between two ticks,
	// while the world waits. changed names other changed settings, which only a new room uses.
	Reload func() (l Limits, changed []string, err error)
	// Ended is called after the last tick, even if the room panicked or could not begin.
	Ended func()
	// Extra appends the game's state outside the world: see ImageConfig.Extra.
	Extra func(b []byte) []byte
	// RestoreRun and LoadExtra restore the room from an image and a journal: see Restoring.
	RestoreRun func(*world.Image) error
	LoadExtra  func(extra []byte) error
	// Edited reports whether the game's files have changed since the run that appended extra: see Restoring.
	Edited func(extra []byte) bool
}

const (
	defaultMaxRooms  = 128
	defaultIdleAfter = time.Minute
	minIdleAfter     = time.Second
	defaultMaxImages = 1000
	minPruneAfter    = time.Hour
	// maxKindName and a slash leave half of wire.MaxRoom for the id.
	maxKindName = 32
	// maxRooms is below the number of ranges of generations.
	maxRooms = 4000
)

var (
	kindName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	// roomID matches ids. Ids are file names, so they neither begin nor end with a dot.
	roomID = regexp.MustCompile(`^[a-z0-9_-]([a-z0-9._-]*[a-z0-9_-])?$`)
)

// ParseRoomName returns the parts of a room's name, KIND or KIND/ID, of at most wire.MaxRoom
// bytes. The id has lower-case letters, digits, hyphens, underscores, and dots inside.
func ParseRoomName(name string) (kind, id string, err error) {
	kind, id, named := strings.Cut(name, "/")
	if len(name) > wire.MaxRoom || !validKind(kind) || named && !roomID.MatchString(id) {
		return "", "", fmt.Errorf("server: the name %.80q is not one of a room: want KIND or KIND/ID of lower-case letters, digits, - _ and ., at most %d bytes", name, wire.MaxRoom)
	}
	return kind, id, nil
}

func validKind(name string) bool { return len(name) <= maxKindName && kindName.MatchString(name) }

func (c RoomsConfig) withDefaults() RoomsConfig {
	c.MaxRooms = cmp.Or(c.MaxRooms, defaultMaxRooms)
	c.Kinds = maps.Clone(c.Kinds)
	for name, k := range c.Kinds {
		k.IdleAfter = cmp.Or(k.IdleAfter, defaultIdleAfter)
		k.MaxRooms = min(cmp.Or(k.MaxRooms, c.MaxRooms), c.MaxRooms)
		k.MaxImages = cmp.Or(k.MaxImages, defaultMaxImages)
		c.Kinds[name] = k
	}
	return c
}

// Validate reports all contradictions in c.
func (c RoomsConfig) Validate() error {
	var errs []error
	complain := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("server: rooms: "+format, args...))
		}
	}
	complain(len(c.Kinds) == 0, "no kinds")
	complain(c.MaxRooms < 0 || c.MaxRooms > maxRooms, "MaxRooms is %d: want 1 to %d, or 0 for %d", c.MaxRooms, maxRooms, defaultMaxRooms)
	complain(c.MaxSessions < 0, "MaxSessions is %d: want a positive number, or 0 for %d", c.MaxSessions, session.DefaultMaxSessions)
	complain(c.FilesPerRoom < 0, "FilesPerRoom is %d", c.FilesPerRoom)
	pinned := 0
	for _, name := range slices.Sorted(maps.Keys(c.Kinds)) {
		k := c.Kinds[name]
		if k.Pinned {
			pinned++
		}
		complain(!validKind(name), "the name %q of a kind: want lower-case letters, digits and hyphens, at most %d bytes", name, maxKindName)
		complain(k.New == nil, "kind %s: New is missing", name)
		complain(int(k.Visibility) >= len(visibilityNames), "kind %s: Visibility is %d", name, k.Visibility)
		complain(k.Create > ForGame, "kind %s: Create is %d", name, k.Create)
		complain(k.MaxRooms < 0, "kind %s: MaxRooms is %d", name, k.MaxRooms)
		complain(k.MaxSessions < 0, "kind %s: MaxSessions is %d", name, k.MaxSessions)
		complain(k.MaxImages < 0, "kind %s: MaxImages is %d", name, k.MaxImages)
		complain(k.IdleAfter > 0 && k.IdleAfter < minIdleAfter, "kind %s: IdleAfter is %v: want at least %v", name, k.IdleAfter, minIdleAfter)
		complain(k.Unsaved && k.MaxImages > 0, "kind %s: MaxImages is set, but rooms are Unsaved", name)
	}
	complain(pinned > cmp.Or(c.MaxRooms, defaultMaxRooms), "%d kinds are Pinned, and MaxRooms is %d", pinned, cmp.Or(c.MaxRooms, defaultMaxRooms))
	if c.Default != "" {
		kind, _, err := ParseRoomName(c.Default)
		k, known := c.Kinds[kind]
		complain(err != nil, "Default: %v", err)
		complain(err == nil && !known, "Default is %q, and there is no kind %q", c.Default, kind)
		complain(known && k.Create != ForAnyone && !(k.Pinned && c.Default == kind), "Default is %q, which is not created for clients that name no room", c.Default)
	}
	complain(c.Images.Every < 0 || c.Images.Every > maxImageEvery, "images are saved every %v: want at most %v, or 0 for %v", c.Images.Every, maxImageEvery, defaultImageEvery)
	complain(c.Images.Keep < 0 || c.Images.Keep > imagefile.MaxKeep, "%d images of each room are kept: want 1 to %d, or 0 for %d", c.Images.Keep, imagefile.MaxKeep, imagefile.DefaultKeep)
	complain(c.Images.PruneAfter > 0 && c.Images.PruneAfter < minPruneAfter, "images are removed after %v: want at least %v", c.Images.PruneAfter, minPruneAfter)
	complain(c.Images.MaxBytes < 0, "Images.MaxBytes is %d", c.Images.MaxBytes)
	complain(c.Images.Dir == "" && !reflect.ValueOf(c.Images).IsZero(), "Images has settings, but no Dir")
	for _, name := range slices.Sorted(maps.Keys(c.Images.Older)) {
		kind, _, err := ParseRoomName(name)
		_, known := c.Kinds[kind]
		complain(err != nil || !known, "Images.Older names %q, which is no room of this server", name)
		n := c.Images.Older[name]
		complain(n < 0 || n > imagefile.MaxKeep, "Images.Older of %s is %d: want 0 to %d", name, n, imagefile.MaxKeep)
	}
	if c.Images.Dir != "" {
		info, err := os.Stat(c.Images.Dir)
		complain(err != nil, "the folder of images: %v", err)
		complain(err == nil && !info.IsDir(), "%s is not a folder: the images of rooms are files in it", c.Images.Dir)
	}
	return errors.Join(errs...)
}

// sessionConfig returns the configuration of the room's Core, without its Router. The error lists what
// is invalid in the result of RoomKind.New.
func (g *RoomGame) sessionConfig(process Config, kind RoomKind, q RoomRequest) (session.Config, error) {
	if g == nil {
		return session.Config{}, errors.New("neither a game nor an error was returned by RoomKind.New")
	}
	c := process.roomSession(g.WorldConfig, q.Name)
	c.MaxSessions = cmp.Or(kind.MaxSessions, c.MaxSessions)
	err := c.Validate()
	if c.World != nil {
		err = errors.Join(q.Generations.checkWorld(c.World), err)
	}
	return c, err
}

// checkWorld returns an error if w issues generations outside the range.
func (g Generations) checkWorld(w *world.World) error {
	if c := w.Config(); c.FirstGeneration != g.First || c.LastGeneration != g.Last {
		return fmt.Errorf("the world issues generations %d to %d: rooms have disjoint ranges, pass RoomRequest.Generations (%d to %d) to world.Config", c.FirstGeneration, c.LastGeneration, g.First, g.Last)
	}
	return nil
}

// CheckRooms makes a room of each kind of Rooms and reports all contradictions. If it returns
// nil, Listen accepts c and New works for each kind.
func (c Config) CheckRooms() error {
	errs := []error{c.Validate()}
	if c.Rooms == nil {
		return errors.Join(errs...)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Rooms.Kinds)) {
		q := RoomRequest{Name: kind, Kind: kind, Generations: generationsOf(1)}
		k := c.Rooms.Kinds[kind]
		if k.New == nil {
			continue // Validate has complained
		}
		g, err := k.New(q)
		if err == nil {
			var own session.Config
			if own, err = g.sessionConfig(c, k, q); err == nil {
				_, err = session.NewCore(own)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("server: room %s: %w", kind, err))
		}
	}
	return errors.Join(errs...)
}
