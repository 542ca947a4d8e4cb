package host

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/server"
)

// adminFlags configure access to the admin port.
type adminFlags struct {
	AdminHost     []string `placeholder:"NAME" help:"Further host name by which the admin port may be addressed, besides localhost and its address. May be repeated."`
	AdminToken    string   `type:"path" placeholder:"FILE" help:"File with the bearer token that the admin port requires, except for /healthz, /readyz and the files of /live."`
	AdminCert     string   `type:"path" and:"adminpair" placeholder:"FILE" help:"Certificate chain (PEM) for HTTPS on the admin port."`
	AdminKey      string   `type:"path" and:"adminpair" placeholder:"FILE" help:"Private key (PEM) of that certificate."`
	AdminClientCA string   `name:"admin-client-ca" type:"path" placeholder:"FILE" help:"CA certificates (PEM): a client certificate signed by one of them replaces the token."`
}

// anyGiven reports whether a flag is set that requires --admin.
func (c *adminFlags) anyGiven() bool {
	return len(c.AdminHost) > 0 || c.AdminToken != "" || c.AdminCert != "" || c.AdminClientCA != ""
}

// newAccess loads the files.
func (c *adminFlags) newAccess(log *zap.Logger) (a server.AdminAccess, err error) {
	a.Hosts = c.AdminHost
	if c.AdminToken != "" {
		text, err := regularfile.Read(c.AdminToken, maxKeyBytes)
		if err != nil {
			return a, fmt.Errorf("cannot read the admin token: %w", err)
		}
		a.Token = strings.TrimSpace(string(text))
		if a.Token == "" { // an empty token would open the port
			return a, fmt.Errorf("the admin token file %s is empty", c.AdminToken)
		}
		warnReadable(c.AdminToken, log)
	}
	if c.AdminCert != "" {
		pair, err := readPair(c.AdminCert, c.AdminKey)
		if err != nil {
			return a, fmt.Errorf("cannot use the admin certificate: %w", err)
		}
		warnReadable(c.AdminKey, log)
		a.Certificate = &pair
	}
	if c.AdminClientCA != "" {
		text, err := regularfile.Read(c.AdminClientCA, maxChainBytes)
		if err != nil {
			return a, fmt.Errorf("cannot read the CA of admin clients: %w", err)
		}
		a.ClientCAs = x509.NewCertPool()
		if !a.ClientCAs.AppendCertsFromPEM(text) {
			return a, fmt.Errorf("%s contains no CA certificate in PEM", c.AdminClientCA)
		}
	}
	return a, nil
}

// explainAdminError adds the flags that fix a configuration error.
func explainAdminError(err error) error {
	if errors.Is(err, server.ErrAdminExposed) {
		return fmt.Errorf("%w: --admin-token FILE, or --admin-cert, --admin-key and --admin-client-ca", err)
	}
	return err
}
