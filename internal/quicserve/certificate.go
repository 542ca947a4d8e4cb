package quicserve

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/regularfile"
)

// certificateLife is below 14 days, the longest life that browsers accept in a
// certificate pinned by its hash.
const certificateLife = 13 * 24 * time.Hour

// keptLife is the validity of a certificate kept in a file. Clients that pin it ignore
// the dates.
const keptLife = 10 * 365 * 24 * time.Hour

// maxKeptBytes bounds the file of a kept certificate, which is shorter than 2 KB.
const maxKeptBytes = 1 << 20

// KeptCertificate implements server.KeptCertificate.
func KeptCertificate(path string) (*tls.Certificate, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := keepCertificate(path, time.Now()); err != nil {
			return nil, fmt.Errorf("server: cannot keep a certificate: %w", err)
		}
	}
	text, err := regularfile.Read(path, maxKeptBytes)
	if err != nil {
		return nil, fmt.Errorf("server: cannot read the kept certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, fmt.Errorf("server: invalid kept certificate %s: %w", path, err)
	}
	return &pair, nil
}

// keepCertificate writes a new certificate and its key to path.
func keepCertificate(path string, now time.Time) error {
	pair, err := selfSigned(now, keptLife)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, block := range []pem.Block{{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, {Type: "PRIVATE KEY", Bytes: key}} {
		if err := pem.Encode(&text, &block); err != nil {
			return err
		}
	}
	return atomicfile.Write(path, text.Bytes(), 0o600)
}

// selfSigned returns a self-signed certificate valid for life, which clients identify by its
// fingerprint.
func selfSigned(now time.Time, life time.Duration) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: cannot generate a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: cannot create a certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "worldd"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life - time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: cannot create a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: cannot create a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// StatelessResetKeyOf implements server.StatelessResetKeyOf.
func StatelessResetKeyOf(c *tls.Certificate) (*[32]byte, error) {
	secret, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("server: cannot derive a stateless reset key: %w", err)
	}
	derived, err := hkdf.Key(sha256.New, secret, nil, "worldd stateless reset", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("server: cannot derive a stateless reset key: %w", err)
	}
	return (*[32]byte)(derived), nil
}

// ValidateCertificate reports whether c has a chain and a private key.
func ValidateCertificate(c *tls.Certificate) error {
	if c == nil || len(c.Certificate) == 0 || c.PrivateKey == nil {
		return errors.New("server: the certificate is empty: want a chain and its private key")
	}
	return nil
}

// fingerprintOf returns the SHA-256 of the certificate in hex, which clients pin.
func fingerprintOf(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return hex.EncodeToString(sum[:])
}
