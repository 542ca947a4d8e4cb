package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/pem"
	"fmt"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/token"
)

const (
	// maxKeyBytes bounds a private key or token key: a 16,384-bit RSA key has 13 KB as
	// PEM.
	maxKeyBytes = 64 << 10
	// maxChainBytes bounds a certificate chain.
	maxChainBytes = 1 << 20
)

// loadCertificate returns the operator's certificate, or the one kept in --identity. It returns
// nil if the server should create one for this run.
func (c *serveCommand) loadCertificate(log *zap.Logger) (*tls.Certificate, error) {
	switch {
	case c.Identity != "":
		kept, err := server.KeptCertificate(c.Identity)
		if err == nil {
			warnReadable(c.Identity, log)
		}
		return kept, err
	case c.Cert != "":
		pair, err := readPair(c.Cert, c.Key)
		if err != nil {
			return nil, usageError("cannot use the certificate: %w", err)
		}
		warnReadable(c.Key, log)
		return &pair, nil
	}
	return nil, nil
}

func readPair(chainFile, keyFile string) (tls.Certificate, error) {
	chain, err := regularfile.Read(chainFile, maxChainBytes)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := regularfile.Read(keyFile, maxKeyBytes)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(chain, key)
}

// readLeaf returns the first certificate of a chain.
func readLeaf(chainFile string) ([]byte, error) {
	text, err := regularfile.Read(chainFile, maxChainBytes)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return block.Bytes, nil
		}
	}
	return nil, fmt.Errorf("%s contains no certificate in PEM", chainFile)
}

// warnReadable warns of a secret key that every user of this machine can read. It does
// not reject the key: some container platforms mount all files that way.
func warnReadable(keyFile string, log *zap.Logger) {
	if regularfile.WorldReadable(keyFile) {
		log.Warn("every user of this machine can read the secret key: run chmod o-r on it", zap.String("path", keyFile))
	}
}

// readSecretKey reads the key that signs tokens, and prints warnReadable's warning.
func (p *program) readSecretKey(keyFile string) (string, error) {
	secret, err := regularfile.Read(keyFile, maxKeyBytes)
	if err != nil {
		return "", usageError("cannot read the secret key: %w", err)
	}
	if regularfile.WorldReadable(keyFile) {
		fmt.Fprintf(p.err, "%s: warning: every user of this machine can read the secret key %s: run chmod o-r on it\n", p.Name, keyFile)
	}
	return string(secret), nil
}

// maxBanList bounds the --bans file: some hundred thousand users.
const maxBanList = 16 << 20

// readBans reads a ban list: one user per line, with surrounding spaces removed. Empty
// lines and lines that begin with # are ignored.
func readBans(path string) ([]string, error) {
	text, err := regularfile.Read(path, maxBanList)
	if err != nil {
		return nil, fmt.Errorf("cannot read the ban list: %w", err)
	}
	var users []string
	number := 0
	for line := range bytes.Lines(text) {
		number++
		user := bytes.TrimSpace(line)
		switch {
		case len(user) == 0 || user[0] == '#':
		case len(user) > token.MaxUser:
			return nil, fmt.Errorf("%s:%d: a user name of %d bytes, want at most %d, one user per line", path, number, len(user), token.MaxUser)
		default:
			users = append(users, string(user))
		}
	}
	return users, nil
}

func (c *serveCommand) bannedUsers() ([]string, error) {
	if c.Bans == "" {
		return nil, nil
	}
	return readBans(c.Bans)
}

// identityCommand makes the file of serve --identity before its server starts, for clients that pin
// a server's present and next certificate.
type identityCommand struct {
	File string `arg:"" type:"path" help:"File of --identity; made if it does not exist."`
}

func (c *identityCommand) run(_ context.Context, p *program) error {
	kept, err := server.KeptCertificate(c.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%x\n", sha256.Sum256(kept.Certificate[0]))
	return nil
}
