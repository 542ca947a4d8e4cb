package link

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"go.uber.org/zap"
)

// ALPN is the protocol of the link in TLS handshakes.
const ALPN = "worldd-peer/1"

// keyLife is the validity of a certificate. Nobody checks it: the directory says which certificates are good.
const keyLife = 10 * 365 * 24 * time.Hour

// Node is another node as its record shows it.
type Node struct {
	Addrs       []string // for clients, and for the link
	Fingerprint string   // empty: its program has no link
}

// Config configures a Link. All functions answer from memory.
type Config struct {
	// FindNode returns a living node.
	FindNode func(name string) (Node, bool)
	// FindHolder returns the name of the living node whose record has the fingerprint.
	FindHolder func(fingerprint string) (name string, ok bool)
	Log        *zap.Logger
}

// Rules bound the requests of a kind.
type Rules struct {
	MaxBody int64         // bytes of the request
	Within  time.Duration // from the first byte of the request to the last of the answer
}

// SmallRules are for requests of Call.
var smallRules = Rules{MaxBody: MaxBody, Within: 10 * time.Second}

// Handler answers the requests of a kind: see the doc of the package. node is the name of the node that asks. ctx ends with the
// connection, and when the time of the kind is over.
type Handler func(ctx context.Context, node string, body io.Reader, answer io.Writer) error

// Link is a process's side of the connections to the other nodes. Its methods may be called by several goroutines at once.
type Link struct {
	config      Config
	certificate tls.Certificate
	fingerprint string
	transport   *quic.Transport // for dialling
	handlers    map[Kind]handling
	counters    counters

	mu      sync.Mutex
	pools   map[string]*pool // by node
	serving map[string]int   // connections by node
}

type handling struct {
	rules   Rules
	handler Handler
}

// Counters count since the start.
type Counters struct {
	Sent, Failed, Served, Refused, Nonsense uint64
}

type counters struct {
	sent, failed    atomic.Uint64 // own requests; failed: without a regular answer
	served, refused atomic.Uint64 // requests of other nodes; refused: by a handler
	nonsense        atomic.Uint64 // connections that broke the rules
}

// New makes the key pair of this process, and a socket to dial other nodes. Close the Link.
func New(c Config) (*Link, error) {
	certificate, err := makeCertificate(time.Now())
	if err != nil {
		return nil, fmt.Errorf("link: cannot make a certificate: %w", err)
	}
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, fmt.Errorf("link: no socket to reach other nodes: %w", err)
	}
	return &Link{
		config: c, certificate: certificate, fingerprint: fingerprintOf(certificate.Certificate[0]), transport: &quic.Transport{Conn: socket},
		handlers: map[Kind]handling{}, pools: map[string]*pool{}, serving: map[string]int{},
	}, nil
}

// Fingerprint returns the SHA-256 of this process's certificate in hex, for its record.
func (l *Link) Fingerprint() string { return l.fingerprint }

// Handle sets the handler of a kind of small requests, as Call sends them. Set all before the port is open.
func (l *Link) Handle(k Kind, h Handler) { l.handlers[k] = handling{smallRules, h} }

// HandleStream sets the handler of a kind of large requests.
func (l *Link) HandleStream(k Kind, r Rules, h Handler) { l.handlers[k] = handling{r, h} }

// Counters returns the counters.
func (l *Link) Counters() Counters {
	c := &l.counters
	return Counters{c.sent.Load(), c.failed.Load(), c.served.Load(), c.refused.Load(), c.nonsense.Load()}
}

// Close ends the connections that this node has dialled.
func (l *Link) Close() error {
	socket := l.transport.Conn
	return errors.Join(l.transport.Close(), socket.Close())
}

// makeCertificate makes a self-signed certificate.
func makeCertificate(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "worldd node"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(keyLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func fingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// presented returns the fingerprint of the certificate that the other side has shown, or "".
func presented(s tls.ConnectionState) string {
	if len(s.PeerCertificates) == 0 {
		return ""
	}
	return fingerprintOf(s.PeerCertificates[0].Raw)
}
