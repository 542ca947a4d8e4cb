package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/worldd/worldd/internal/regularfile"
)

// maxPEM bounds the bytes of each file of ReadTLS.
const maxPEM = 1 << 20

// ReadTLS reads the certificates of the engine's authority, and the client's certificate and its key, in PEM. It
// returns nil if no file is named. Without an authority the system's authorities are trusted.
func ReadTLS(authority, certificate, key string) (*tls.Config, error) {
	if authority == "" && certificate == "" && key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		pem, err := regularfile.Read(authority, maxPEM)
		if err != nil {
			return nil, fmt.Errorf("etcd: authority: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("etcd: authority: %s has no certificate in PEM", authority)
		}
	}
	if certificate == "" && key == "" {
		return config, nil
	}
	if certificate == "" || key == "" {
		return nil, fmt.Errorf("etcd: a client certificate (%q) and its key (%q) belong together: name both", certificate, key)
	}
	certificatePEM, err := regularfile.Read(certificate, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("etcd: client certificate: %w", err)
	}
	keyPEM, err := regularfile.Read(key, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("etcd: key of the client certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("etcd: client certificate %s and key %s: %w", certificate, key, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
