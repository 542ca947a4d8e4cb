package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"

	"github.com/worldd/worldd/server"
)

// A hand-over replaces the process of a running server by one of the executable that is now at its path. The old process
// starts the new one with the same command line, and one end of a pair of sockets:
//
//	old process                        new process
//	serves                             loads its program, reads the image
//	             <- offer, JSON line
//	ends, saves, closes the journal
//	     sockets of the ports, cordon ->
//	                                   continues the run, ticks
//	             <- "serving"
//	ends, or accompanies the new one
//
// Until the old process has read the offer, any failure of the new one changes nothing. After its own end the old process
// waits. If the new one fails, the old process kills it, and starts its own executable in the same way.
const (
	// handOverVariable has the new process's descriptor of the pair.
	handOverVariable = "HANDOVER_FD"
	handOverFD       = 3 // the first of exec.Cmd.ExtraFiles
	// prepareTimeout bounds the time until the offer, and continueTimeout the time from the end of the old process to
	// the first tick of the new one.
	prepareTimeout  = 2 * time.Minute
	continueTimeout = time.Minute
	maxOffer        = 16 << 10
	servingLine     = "serving\n"
	// ownExecutable runs the old build even if its file was replaced.
	ownExecutable = "/proc/self/exe"
	// signsPerTimeout is the number of signs of life in the supervisor's timeout.
	signsPerTimeout = 3
)

// notifyHandOver catches the signal that asks for a hand-over.
func notifyHandOver() <-chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR2)
	return asked
}

// handOver is a hand-over from the view of the old process, which is ready for it.
type handOver struct {
	own      offer
	log      *zap.Logger
	next     *successor
	fallback string // the executable that continues if next fails

	passes   inheritance
	endAlive func() // ends keepAlive
}

// prepareSuccessor starts the next process for each request, until one is ready. It returns nil if ctx ends before.
func (c *serveCommand) prepareSuccessor(ctx context.Context, s *server.Server, log *zap.Logger, asked <-chan os.Signal) *handOver {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-asked:
		}
		h, err := c.beginHandOver(ctx, s, log)
		if err == nil {
			return h
		}
		if ctx.Err() == nil {
			log.Error("no hand-over: this process continues to serve", zap.Error(err))
		}
	}
}

func (c *serveCommand) beginHandOver(ctx context.Context, s *server.Server, log *zap.Logger) (*handOver, error) {
	if err := c.checkHandOver(s); err != nil {
		return nil, err
	}
	if os.Getpid() == 1 {
		return nil, errors.New("process 1 of a container ends with its container: replace the container instead")
	}
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return nil, err
	}
	h := &handOver{own: c.newOffer(), log: log, fallback: ownExecutable}
	if h.next, err = startSuccessor(path); err != nil {
		return nil, err
	}
	log.Info("hand-over: the next process prepares", zap.Int("pid", h.next.cmd.Process.Pid))
	if err := h.next.awaitOffer(ctx, h.own); err != nil {
		return nil, errors.Join(err, h.next.kill())
	}
	if h.passes.sockets, err = s.Sockets(); err != nil {
		return nil, errors.Join(err, h.next.kill())
	}
	h.passes.cordoned = s.Cordoned()
	h.endAlive = keepAlive()
	log.Info("hand-over: the next process is ready", zap.Int("pid", h.next.cmd.Process.Pid))
	return h, nil
}

// keepAlive sends signs of life to the supervisor, which expects them while no world ticks, until end is called.
func keepAlive() (end func()) {
	timeout, _ := daemon.SdWatchdogEnabled(false)
	if timeout == 0 {
		return func() {}
	}
	signs, ended := time.NewTicker(timeout/signsPerTimeout), make(chan struct{})
	go func() {
		defer signs.Stop()
		for {
			_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
			select {
			case <-signs.C:
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}

// complete hands over after the end of this process's server. A supervisor that cannot follow to the next process knows
// only this one, which then ends with the next.
func (h *handOver) complete(ctx context.Context, asked requests) error {
	defer h.endAlive()
	if ctx.Err() != nil { // the server was told to end at the same moment
		_ = h.next.kill()
		return h.passes.sockets.Close()
	}
	if err := h.passSockets(ctx); err != nil {
		return fmt.Errorf("hand-over: %w", err)
	}
	h.log.Info("handed over", zap.Int("pid", h.next.cmd.Process.Pid))
	if followed, _ := daemon.SdNotify(false, "MAINPID="+strconv.Itoa(h.next.cmd.Process.Pid)); followed {
		return nil
	}
	return h.next.accompany(ctx, asked)
}

// passSockets passes the sockets to the next process, and waits until it serves. If it fails, this executable continues in
// another process.
func (h *handOver) passSockets(ctx context.Context) error {
	defer h.passes.sockets.Close()
	err := h.next.continueWith(ctx, h.passes)
	if err == nil {
		return nil
	}
	err = errors.Join(err, h.next.kill()) // else it keeps locks and ports
	if ctx.Err() != nil {
		return err
	}
	h.log.Error("the next process has failed after the end of this one: the old executable continues", zap.Error(err))
	if h.next, err = startSuccessor(h.fallback); err != nil {
		return err
	}
	err = h.next.awaitOffer(ctx, h.own)
	if err == nil {
		err = h.next.continueWith(ctx, h.passes)
	}
	if err != nil {
		err = errors.Join(err, h.next.kill())
	}
	return err
}

// successor is the next process.
type successor struct {
	cmd   *exec.Cmd
	conn  *net.UnixConn
	lines *bufio.Reader
	ended chan struct{}
}

// startSuccessor starts an executable with this process's command line.
func startSuccessor(path string) (*successor, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	own, its := os.NewFile(uintptr(pair[0]), "successor"), os.NewFile(uintptr(pair[1]), "predecessor")
	defer its.Close()
	conn, err := unixConn(own)
	if err != nil {
		return nil, err
	}
	s := &successor{conn: conn, lines: bufio.NewReaderSize(conn, maxOffer), ended: make(chan struct{})}
	s.cmd = &exec.Cmd{Path: path, Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: []*os.File{its}}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "WATCHDOG_PID=") { // systemd names this process
			s.cmd.Env = append(s.cmd.Env, entry)
		}
	}
	s.cmd.Env = append(s.cmd.Env, handOverVariable+"="+strconv.Itoa(handOverFD))
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	go func() {
		_ = s.cmd.Wait() // its state says how it ended
		close(s.ended)
	}()
	return s, nil
}

// unixConn returns a connection over a socket, and closes file.
func unixConn(file *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(file)
	err = errors.Join(err, file.Close())
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}

// kill ends the process, and returns its state as an error.
func (s *successor) kill() error {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.ended
	return errors.Join(fmt.Errorf("the next process: %v", s.cmd.ProcessState), s.conn.Close())
}

// accompany passes signals on to the process until it ends, and returns its failure.
func (s *successor) accompany(ctx context.Context, asked requests) error {
	debug.FreeOSMemory() // the next process has a world of its own
	select {
	case <-asked.replace: // the same request for this hand-over, sent twice
	default:
	}
	defer context.AfterFunc(ctx, func() { s.pass(syscall.SIGTERM) })()
	again := make(chan os.Signal, 1) // after ctx
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	for {
		select {
		case <-again:
			s.pass(syscall.SIGTERM)
		case <-asked.reload:
			s.pass(syscall.SIGHUP)
		case <-asked.replace:
			s.pass(syscall.SIGUSR2)
		case <-s.ended:
			if !s.cmd.ProcessState.Success() {
				return fmt.Errorf("the next process: %v", s.cmd.ProcessState)
			}
			return nil
		}
	}
}

// pass sends a signal to the process, which may have ended.
func (s *successor) pass(signal os.Signal) { _ = s.cmd.Process.Signal(signal) }

// readLine reads a line of the process.
func (s *successor) readLine(ctx context.Context, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) })()
	line, err := s.lines.ReadSlice('\n')
	if ctx.Err() != nil {
		return "", fmt.Errorf("the next process is not ready: %w", ctx.Err())
	}
	return string(line), err
}

// awaitOffer waits until the process is ready, and checks that it would continue this one.
func (s *successor) awaitOffer(ctx context.Context, own offer) error {
	line, err := s.readLine(ctx, prepareTimeout)
	if err != nil {
		return err
	}
	var its offer
	if err := json.Unmarshal([]byte(line), &its); err != nil {
		return fmt.Errorf("the next process is of another version: %w", err)
	}
	if its != own {
		return fmt.Errorf("the next process differs in what only a restart can change: it has %+v, this one %+v", its, own)
	}
	return nil
}

// continueWith passes the sockets, and waits until the process serves. The end of ctx ends the process too.
func (s *successor) continueWith(ctx context.Context, passes inheritance) error {
	defer context.AfterFunc(ctx, func() { s.pass(syscall.SIGTERM) })()
	if err := passes.send(s.conn); err != nil {
		return err
	}
	line, err := s.readLine(context.WithoutCancel(ctx), continueTimeout)
	if err == nil && line != servingLine {
		err = fmt.Errorf("the next process says %q", line)
	}
	return err
}

// send passes the inheritance over conn: a byte, 1 for a cordon, and the key of stateless resets, beside the descriptors.
func (i inheritance) send(conn *net.UnixConn) error {
	var fds []int
	for _, file := range []*os.File{i.sockets.Clients, i.sockets.Admin} {
		if file != nil {
			raw, err := file.SyscallConn() // Fd would make reads of the socket block
			if err != nil {
				return err
			}
			if err := raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) }); err != nil {
				return err
			}
		}
	}
	cordon := byte(0)
	if i.cordoned {
		cordon = 1
	}
	_, _, err := conn.WriteMsgUnix(append([]byte{cordon}, i.sockets.StatelessResetKey[:]...), syscall.UnixRights(fds...), nil)
	return err
}

// predecessor is the old process from the view of the new one.
type predecessor struct{ conn *net.UnixConn }

// findPredecessor returns the process that has started this one for a hand-over, or nil.
func findPredecessor() (*predecessor, error) {
	text, found := os.LookupEnv(handOverVariable)
	if !found {
		return nil, nil
	}
	_ = os.Unsetenv(handOverVariable) // cannot fail for this name
	fd, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("%s is %q, want a number", handOverVariable, text)
	}
	syscall.CloseOnExec(fd)
	conn, err := unixConn(os.NewFile(uintptr(fd), "predecessor"))
	if err != nil {
		return nil, fmt.Errorf("%s=%d: %w", handOverVariable, fd, err)
	}
	return &predecessor{conn}, nil
}

// awaitInheritance says that this process is ready, and waits until the old server has ended.
func (p *predecessor) awaitInheritance(o offer) (i inheritance, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return i, err
	}
	if _, err := p.conn.Write(append(text, '\n')); err != nil {
		return i, err
	}
	data, rights, key := make([]byte, 1+32), make([]byte, syscall.CmsgSpace(2*4)), new([32]byte)
	read, n, _, _, err := p.conn.ReadMsgUnix(data, rights)
	if err != nil {
		return i, fmt.Errorf("the running server did not hand over: %w", err)
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return i, errors.Join(errors.New("the running server has passed no sockets"), err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return i, err
	}
	i = inheritance{&server.Sockets{Clients: os.NewFile(uintptr(fds[0]), "clients")}, data[0] == 1}
	if copy(key[:], data[1:read]) == len(key) { // older versions pass none
		i.sockets.StatelessResetKey = key
	}
	if len(fds) > 1 {
		i.sockets.Admin = os.NewFile(uintptr(fds[1]), "admin")
	}
	return i, nil
}

// confirm says that this process serves.
func (p *predecessor) confirm() error {
	_, err := p.conn.Write([]byte(servingLine))
	return errors.Join(err, p.conn.Close())
}
