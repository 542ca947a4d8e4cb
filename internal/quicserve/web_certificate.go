package quicserve

import (
	"crypto/tls"
	"sync"
	"time"
)

const (
	// firstWebLife is the validity of the first certificate for browsers. Its successors are
	// valid for certificateLife, and are published for the first half of that time, before
	// their use.
	firstWebLife = 7 * 24 * time.Hour
	// webMargin is how long before its expiry a certificate is replaced.
	webMargin = 24 * time.Hour
)

// webCertificates makes and rotates the certificates for browsers, which pin them by hash. A
// page that knows the hashes of the current and the next certificate can connect for at least
// five days: each is next for almost six days, then current for as long.
type webCertificates struct {
	mu            sync.Mutex
	current, next *tls.Certificate
}

// certificatesAt returns the certificates to use and to publish at now.
func (c *webCertificates) certificatesAt(now time.Time) (current, next *tls.Certificate, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isAccepted(c.current, now) {
		if err := c.rotateCertificates(now); err != nil {
			return nil, nil, err
		}
	}
	return c.current, c.next, nil
}

// isAccepted reports whether browsers accept certificate at now, and for webMargin longer.
func (c *webCertificates) isAccepted(certificate *tls.Certificate, now time.Time) bool {
	return certificate != nil && !now.Before(certificate.Leaf.NotBefore) && now.Before(certificate.Leaf.NotAfter.Add(-webMargin))
}

// rotateCertificates replaces the current certificate by the next. It makes both at the first
// call, and if the clock was set or the machine slept for days.
func (c *webCertificates) rotateCertificates(now time.Time) error {
	current := c.next
	if !c.isAccepted(current, now) {
		made, err := selfSigned(now, firstWebLife)
		if err != nil {
			return err
		}
		current = &made
	}
	next, err := selfSigned(now, certificateLife)
	if err != nil {
		return err
	}
	c.current, c.next = current, &next
	return nil
}
