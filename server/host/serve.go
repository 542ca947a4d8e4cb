package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/token"
)

// serveCommand hosts a world.
type serveCommand struct {
	worldFlags

	Config commandline.ConfigFile `type:"path" placeholder:"FILE" help:"JSON file with values of these flags by name, as {\"listen\": \"0.0.0.0:4433\"}. The command line and the environment override it."`

	Listen      string `default:"127.0.0.1:4433" placeholder:"HOST:PORT" help:"UDP address for clients (${default})."`
	Admin       string `placeholder:"HOST:PORT" help:"TCP address for metrics, sessions and profiles; none if not given. Off loopback it needs --admin-token or --admin-client-ca."`
	Identity    string `type:"path" xor:"cert" placeholder:"FILE" help:"Keep the certificate that the server makes in this file, made at the first start; a file for each server. Clients that pin it reconnect after a restart, at once even after a crash. Without, it is another at each start."`
	Cert        string `type:"path" and:"pair" xor:"cert" placeholder:"FILE" help:"Your certificate chain (PEM)."`
	Key         string `type:"path" and:"pair" placeholder:"FILE" help:"Private key (PEM) of the certificate."`
	MaxSessions int    `placeholder:"N" help:"Maximum number of clients (the world's own)."`
	Rooms       int    `placeholder:"N" help:"Maximum number of rooms (the game's own; for games with rooms)."`

	adminFlags
	recordFlags
	roomImageFlags
	webFlags
	clusterFlags
	agonesFlags

	MaxSessionsPerAddress int `placeholder:"N" help:"Maximum number of clients from one IPv4 address or IPv6 /64 (64; unlimited from this machine)."`

	CommandsPerSecond int `placeholder:"N" help:"Commands per second and client (50)."`
	CommandBurst      int `placeholder:"N" help:"Commands that one client may send in a burst (100)."`

	Workers   int      `default:"1" placeholder:"N" help:"Goroutines that encode snapshots. More than 1 shorten the tick if the transport leaves processors idle."`
	Tables    string   `type:"path" placeholder:"FILE" help:"Coding tables from ${name} train; clients need the same."`
	TokenKeys []string `type:"path" placeholder:"FILE" help:"Public keys: clients need a token signed by a matching secret key. Without it, any client may join."`
	Anyone    bool     `help:"Let any client join without a token, also from other machines. Off loopback the server otherwise needs --token-keys."`
	Audience  string   `placeholder:"NAME" help:"Audience that tokens must name (${name}; needs --token-keys)."`

	TokenSpent string `type:"path" placeholder:"FILE" help:"Store used tokens in this file, so that none is valid again after a restart. FILE.lock excludes other servers (needs --token-keys)."`

	MinClient         string `placeholder:"VERSION" help:"Refuse clients of older versions of the game, and ask their players to update."`
	OneSessionPerUser bool   `help:"A user's new session ends that user's old one (needs --token-keys)."`
	Bans              string `type:"path" placeholder:"FILE" help:"File of banned users, one per line; reloaded at SIGHUP (needs --token-keys)."`

	Image           string                 `type:"path" placeholder:"FILE" help:"Restore the world from this file if it exists, and save it there. Links are followed. FILE.lock excludes other servers. For games with rooms: a folder, with a file for each room."`
	ImageEvery      time.Duration          `placeholder:"TIME" help:"Time between two saves (30s; needs --image)."`
	ImageKeep       int                    `placeholder:"N" help:"Number of images kept, older ones as FILE.old-1 and so on; the newest valid one is restored (3; needs --image)."`
	ImageGeneration []string               `placeholder:"[ROOM=]N" help:"Start from the generation of FILE.old-N instead of the newest. Newer ones are renamed to .skipped, once: remove the flag afterwards. With rooms: of a room's image, repeatable (needs --image)."`
	Journal         *imagefile.JournalMode `placeholder:"MODE" help:"Keep the ticks since the last save beside the image, for a start after a crash: everysec, always or off (everysec; needs --image)."`
	ImageStrict     bool                   `help:"Refuse an image whose world was set up differently, by another version of the game, instead of mapping it (needs --image)."`

	DrainFor time.Duration `placeholder:"TIME" help:"At SIGTERM, refuse new clients and let the others play on until they have left, for this time at most. A second signal ends the wait."`

	LogLevel zapcore.Level `default:"info" placeholder:"LEVEL" help:"Least level of the lines that are logged: debug, info, warn or error. The audit trail of sessions and operators has level info."`
	QlogDir  string        `type:"path" placeholder:"DIR" help:"Let POST /sessions/ID/qlog?seconds=N on the admin address record a session's QUIC there."`
}

// Validate is called by kong.
func (c *serveCommand) Validate() error {
	switch noKeys := len(c.TokenKeys) == 0; {
	case c.MaxSessions < 0:
		return fmt.Errorf("--max-sessions is %d, want more than 0, or 0 for the world's own limit", c.MaxSessions)
	case c.Rooms < 0:
		return fmt.Errorf("--rooms is %d, want more than 0, or 0 for the game's own limit", c.Rooms)
	case c.MaxSessionsPerAddress < 0:
		return fmt.Errorf("--max-sessions-per-address is %d, want more than 0, or 0 for %d", c.MaxSessionsPerAddress, server.DefaultMaxSessionsPerAddress)
	case c.ImageEvery < 0 || c.ImageEvery > time.Hour:
		return fmt.Errorf("--image-every is %v, want at most 1h, or 0 for 30s", c.ImageEvery)
	case c.DrainFor < 0:
		return fmt.Errorf("--drain-for is %v, want more than 0, or 0 to end at once", c.DrainFor)
	case c.ImageEvery > 0 && c.Image == "": // otherwise nothing would be saved, unnoticed
		return errors.New("--image-every needs --image FILE, where the world is saved")
	case c.Anyone && !noKeys:
		return errors.New("--anyone and --token-keys exclude each other: with keys, clients need a token")
	case c.Audience != "" && noKeys: // otherwise any client could join, unnoticed
		return errors.New("--audience needs --token-keys FILE: without keys no token is checked, and any client may join")
	case (c.OneSessionPerUser || c.Bans != "" || c.TokenSpent != "") && noKeys:
		return errors.New("--token-spent, --one-session-per-user and --bans need --token-keys FILE: without keys no token is checked, and no client has a user")
	case c.ImageKeep < 0 || c.ImageKeep > imagefile.MaxKeep:
		return fmt.Errorf("--image-keep is %d, want 1 to %d, or 0 for %d", c.ImageKeep, imagefile.MaxKeep, imagefile.DefaultKeep)
	case c.ImageKeep > 0 && c.Image == "":
		return errors.New("--image-keep needs --image FILE, where the world is saved")
	case len(c.ImageGeneration) > 0 && c.Image == "":
		return errors.New("--image-generation needs --image FILE, whose generations it means")
	case wire.CheckVersion(c.MinClient) != nil:
		return fmt.Errorf("--min-client: %w", wire.CheckVersion(c.MinClient))
	case c.Journal != nil && c.Image == "":
		return errors.New("--journal needs --image FILE, beside which the ticks are written")
	case c.ImageStrict && c.Image == "":
		return errors.New("--image-strict needs --image FILE, which it may refuse")
	case c.anyGiven() && c.Admin == "":
		return errors.New("--admin-host, --admin-token, --admin-cert and --admin-client-ca need --admin HOST:PORT")
	case c.QlogDir != "" && c.Admin == "":
		return errors.New("--qlog-dir needs --admin HOST:PORT, which starts recordings")
	}
	return errors.Join(c.recordFlags.checkFlags(), c.roomImageFlags.checkFlags(c.Image), c.webFlags.checkFlags(), c.clusterFlags.checkFlags(c.Listen, c.inFleet()))
}

// run serves until ctx is done, or until another process takes over.
func (c *serveCommand) run(ctx context.Context, p *program) error {
	reload, replace := watchHangups(), notifyHandOver()
	outliveReaders()
	log := newLog(p.err, c.LogLevel)
	defer func() { _ = log.Sync() }() // waits a bounded time; unread lines are then lost
	defer logLibraries(log)()
	before, err := findPredecessor()
	if err != nil {
		return err
	}
	asked := requests{before, reload, replace}
	next, err := c.serveWorld(ctx, p, log, asked)
	if next != nil { // even after an error: it continues what is on the disk
		err = errors.Join(err, next.complete(ctx, asked))
	}
	return err
}

// requests are what a process hears of others while it serves.
type requests struct {
	before          *predecessor // nil: it was not started for a hand-over
	reload, replace <-chan os.Signal
}

// configuredServer has the settings of a server, read and checked.
type configuredServer struct {
	hosting  *hosting
	config   server.Config // valid
	verifier *token.Verifier
	banned   []string
}

// configureServer reads the files that the flags name, and checks the flags. It touches neither ports nor images.
func (c *serveCommand) configureServer(p *program, log *zap.Logger) (hosted configuredServer, err error) {
	tables, err := loadTables(c.Tables)
	if err != nil {
		return hosted, err
	}
	hosted.hosting, err = c.hostConfigured(p, tables, log)
	if err != nil {
		return hosted, err
	}
	config := hosted.hosting.config
	config.Listen, config.AdminListen, config.QlogDir, config.Log = c.Listen, c.Admin, c.QlogDir, log
	config.Web = c.webFlags.webConfig()
	hosted.verifier, hosted.banned, err = c.checkTokens(&config, p.Name)
	if err != nil {
		return hosted, err
	}
	if config.Admit == nil && !c.Anyone && isReachable(c.Listen) {
		return hosted, usageError("--listen %s: any client on the network could join: give --token-keys FILE, or --anyone if that is meant", c.Listen)
	}
	if config.AdminAccess, err = c.newAccess(log); err != nil {
		return hosted, usageError("%w", err)
	}
	if err := config.Validate(); err != nil {
		return hosted, usageError("%w", explainAdminError(err))
	}
	err = c.loadIdentity(&config)
	hosted.config = config
	return hosted, err
}

// serveWorld serves until ctx is done, drains, and prints a summary. If the next process is ready before, it returns the
// hand-over to it.
func (c *serveCommand) serveWorld(ctx context.Context, p *program, log *zap.Logger, asked requests) (next *handOver, err error) {
	hosted, err := c.configureServer(p, log)
	if err != nil {
		return nil, err
	}
	h, config, verifier := hosted.hosting, hosted.config, hosted.verifier
	cordoned := false
	if asked.before != nil {
		inherited, err := c.succeed(asked.before, &config, h.instance)
		if err != nil {
			return nil, err
		}
		defer inherited.sockets.Close()
		config.Sockets, cordoned = inherited.sockets, inherited.cordoned
	}
	fleet, err := c.joinFleet(ctx, log)
	if err != nil {
		return nil, err
	}
	defer func() { fleet.leave(next) }()
	joined, err := c.joinCluster(ctx, c.Listen, c.Image, log)
	if err != nil {
		return nil, err
	}
	if joined != nil {
		defer joined.leave(log) // after the last save of each room
		config.Cluster, config.Peers = joined, joined.peerPort()
		if err := c.keepCopies(ctx, joined, config.Rooms, p.ImageCopies); err != nil {
			return nil, err
		}
	}
	if c.TokenSpent != "" {
		if err := verifier.KeepSpent(c.TokenSpent, time.Now()); err != nil {
			return nil, err
		}
		defer func() { _ = verifier.Close() }() // everything is already on disk
	}
	if c.Image != "" && h.instance != nil {
		if err := c.restoreImage(&config, h.instance, p); err != nil {
			return nil, err
		}
		defer config.Image.Store.Close() // otherwise the system unlocks it
	}
	if runtime.GOOS == "linux" {
		_ = os.Setenv(bufferSwitch, "true") // cannot fail for this name
	}
	s, err := server.Listen(config)
	if err != nil {
		return nil, err
	}
	for _, line := range readSurroundings(os.DirFS("/"), receiveBuffer(s)).advice() {
		log.Warn(line)
	}
	h.attach(s.Room())
	s.SetBans(hosted.banned)
	if cordoned {
		s.Cordon()
	}
	if c.Record != "" && h.instance != nil { // after binding the address, since another server may be writing the file
		defer beginRecording(h.instance, c.Record, c.maxBytes(), log)()
	}
	p.printLine("%s on %v, fingerprint %s", h.title, s.Addr(), s.Fingerprint())
	if err := c.printAccess(p, config, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	serving, end := context.WithCancelCause(c.awaitEmpty(ctx, s))
	defer end(nil)
	if err := p.attachServer(serving, s); err != nil {
		return nil, err
	}
	defer fleet.report(s, h)()
	began := time.Now()
	err = serve(serving, s, asked.before,
		func(serving context.Context) {
			(&reloader{c, s, h.instance, verifier, log}).run(serving, asked.reload)
		},
		func(serving context.Context) {
			serving, stop := context.WithCancel(serving)
			defer context.AfterFunc(ctx, stop)() // not while players leave (--drain-for)
			next = c.prepareSuccessor(serving, s, log, asked.replace)
			if next != nil {
				end(server.ErrHandOver)
			}
		})
	writeServed(p.out, time.Since(began), s.Report(), h)
	return next, err
}

// succeed waits until the server that this process replaces has ended, and returns what it passes. Until then nothing that
// it uses is touched.
func (c *serveCommand) succeed(before *predecessor, config *server.Config, g *Instance) (inheritance, error) {
	err := c.checkSucceeds(config, g)
	if err != nil {
		return inheritance{}, err
	}
	return before.awaitInheritance(c.newOffer())
}

// drainPoll is the interval of looks for sessions while the server waits for its players to leave.
const drainPoll = 50 * time.Millisecond

// redirectTime is how long a node whose rooms have moved stays, to tell their clients where.
const redirectTime = time.Second

// awaitEmpty returns a context that ends after ctx: once all sessions have ended, or after --drain-for.
// From the end of ctx the server admits nobody new. A node of a cluster moves its rooms to the others.
func (c *serveCommand) awaitEmpty(ctx context.Context, s *server.Server) context.Context {
	if c.DrainFor == 0 {
		return ctx
	}
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		defer end()
		s.Cordon()
		moving, stop := context.WithTimeout(later, c.DrainFor)
		defer stop()
		moved := c.moveRooms(moving, s)
		again := make(chan os.Signal, 1)
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(again)
		began, deadline, poll := time.Now(), time.After(c.DrainFor), time.NewTicker(drainPoll)
		defer poll.Stop()
		for {
			select {
			case <-deadline:
				return
			case <-again:
				if time.Since(began) > time.Second { // a process and its group may get one signal each
					return
				}
			case <-poll.C:
				if isClosed(moved) && s.Sessions() == 0 {
					return
				}
			}
		}
	})
	return later
}

// moveRooms moves the rooms to other nodes of the cluster, if there is one. The channel is closed when that is done.
func (c *serveCommand) moveRooms(ctx context.Context, s *server.Server) <-chan struct{} {
	done := make(chan struct{})
	if len(c.Cluster) == 0 {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		before := s.Sessions()
		if _, err := s.MoveRooms(ctx); err == nil && before > 0 {
			time.Sleep(redirectTime)
		}
	}()
	return done
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// journalMode returns the mode of the journal of each world that is saved.
func (c *serveCommand) journalMode() imagefile.JournalMode {
	switch {
	case c.Image == "":
		return imagefile.JournalOff
	case c.Journal == nil:
		return imagefile.JournalEverySecond
	}
	return *c.Journal
}

// checkTokens makes config admit clients by their tokens, if there are keys. It returns the
// verifier, nil without keys, and the banned users.
func (c *serveCommand) checkTokens(config *server.Config, program string) (verifier *token.Verifier, banned []string, err error) {
	verifier, err = c.newVerifier(program)
	if err != nil {
		return nil, nil, err
	}
	if verifier != nil {
		if config.Admit != nil {
			return nil, nil, usageError("--token-keys is set, but this game admits clients by its own Definition.Admit")
		}
		config.Admit = admission(verifier, config.Log)
	}
	banned, err = c.bannedUsers()
	if err != nil {
		return nil, nil, usageError("%w", err)
	}
	return verifier, banned, nil
}

// loadIdentity sets the certificate, and the settings derived from it.
func (c *serveCommand) loadIdentity(config *server.Config) (err error) {
	config.Certificate, err = c.loadCertificate(config.Log)
	if err != nil {
		return err
	}
	if c.Web {
		config.Web.ByName = c.Cert != ""
	}
	if c.Identity != "" { // many servers may share an operator's certificate
		config.StatelessResetKey, err = server.StatelessResetKeyOf(config.Certificate)
		if err == nil {
			c.saltResetKey(config.StatelessResetKey)
		}
		return err
	}
	config.StatelessResetKey = new([32]byte) // passes in a hand-over
	_, err = rand.Read(config.StatelessResetKey[:])
	return err
}

// printAccess prints how clients, pages and the operator reach the server.
func (c *serveCommand) printAccess(p *program, config server.Config, s *server.Server) error {
	if c.Web {
		if err := writeWeb(p, config.Web, s); err != nil {
			return err
		}
	}
	if config.Admit == nil {
		p.printLine("anybody may join: development only (--token-keys asks for tokens)")
	}
	admin := s.AdminAddr()
	if admin == nil {
		return nil
	}
	scheme := "http"
	if config.AdminAccess.Certificate != nil {
		scheme = "https"
	}
	p.printLine("admin on %s://%v", scheme, admin)
	if c.Web {
		p.printLine("the world in a browser: %s://%v/live", scheme, admin)
	}
	if isExposed(admin) && config.AdminAccess.Certificate == nil {
		p.printLine("the admin token crosses the network unencrypted: --admin-cert and --admin-key make the port HTTPS")
	}
	return nil
}

// isExposed reports whether other machines can reach an address.
func isExposed(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

// isReachable reports whether other machines can reach a UDP address to listen on. Server.Listen
// reports an address that is none.
func isReachable(hostport string) bool {
	a, err := net.ResolveUDPAddr("udp", hostport)
	return err == nil && !a.IP.IsLoopback()
}

// serve runs the server, with its tasks on other goroutines.
func serve(ctx context.Context, s *server.Server, before *predecessor, tasks ...func(context.Context)) error {
	telling, ended := context.WithCancel(ctx)
	var supervisor sync.WaitGroup
	supervisor.Go(func() { reportToSupervisor(telling, s, before) })
	for _, task := range tasks {
		supervisor.Go(func() { task(telling) })
	}
	defer func() {
		ended()
		supervisor.Wait()
	}()
	return s.Serve(ctx)
}
