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

// certificateLife is below the 14 days beyond which browsers refuse a
// certificate that is known by its hash alone.
const certificateLife = 13 * 24 * time.Hour

// keptLife is how long a certificate says that it is good which is kept in a file.
// Who pins it does not ask.
const keptLife = 10 * 365 * 24 * time.Hour

// maxKeptBytes bounds the file of a kept certificate, which has below 2 KB.
const maxKeptBytes = 1 << 20

// KeptCertificate is server.KeptCertificate.
func KeptCertificate(path string) (*tls.Certificate, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := keepCertificate(path, time.Now()); err != nil {
			return nil, fmt.Errorf("server: can't keep a certificate: %w", err)
		}
	}
	text, err := regularfile.Read(path, maxKeptBytes)
	if err != nil {
		return nil, fmt.Errorf("server: the kept certificate cannot be read: %w", err)
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, fmt.Errorf("server: the certificate kept in %s cannot be used: %w", path, err)
	}
	return &pair, nil
}

func keepCertificate(path string, now time.Time) error {
	pair, err := selfMade(now, keptLife)
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

// selfMade makes a certificate that is good for life. Nobody vouches for it:
// clients are told its fingerprint.
func selfMade(now time.Time, life time.Duration) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: can't make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: can't make a certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "worldd"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life - time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: can't make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// StatelessResetKeyOf is server.StatelessResetKeyOf.
func StatelessResetKeyOf(c *tls.Certificate) (*[32]byte, error) {
	secret, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("server: no stateless reset key can be derived: %w", err)
	}
	derived, err := hkdf.Key(sha256.New, secret, nil, "worldd stateless reset", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("server: no stateless reset key can be derived: %w", err)
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

// fingerprint is what clients pin: the SHA-256 of the certificate, in hex.
func fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return hex.EncodeToString(sum[:])
}
